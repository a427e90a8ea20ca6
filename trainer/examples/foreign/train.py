"""A plain PyTorch training that any launcher with torchrun's environment can start again.

    elastic-run --standalone --nproc-per-node 2 trainer/examples/foreign/train.py --checkpoint /tmp/model.pt

Nothing here knows of Elastic. What makes it restartable with any number of workers:

- The state is all of it: model, optimizer, and the place in the data (epoch, samples consumed of it). Where a run goes on
  follows from the checkpoint alone.
- The place in the data counts samples of the whole job, not of one rank. Each epoch has one order, drawn from (seed, epoch);
  a step takes the next `--batch` samples of it, and each rank its share. So the number of workers may change from one start
  to the next: no sample is left out or taken twice but those of steps after the last checkpoint, which are done again.
- The batch of the job stays the same, so the learning rate does, too. Shares of different size are weighted by their size.
- A checkpoint is written beside the old one, synced, and renamed over it: whoever is killed meanwhile leaves the old one. There
  is no barrier around it, because a rank that waits for a dead one waits for ever.
- All ranks load what rank 0 has read: not every machine may see the newest file yet.
"""
import argparse
import io
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn


def batch_of(order, start, size, rank, world):
    """The share of `rank` in the samples order[start : start + size]; shares differ by at most one."""
    chosen = order[start:start + size]
    base, more = divmod(len(chosen), world)
    first = rank * base + min(rank, more)
    return chosen[first:first + base + (1 if rank < more else 0)]


def save(path, state):
    beside = f"{path}.{os.getpid()}.new"
    with open(beside, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def load(path, rank):
    """What rank 0 finds, for all ranks; None if there is no checkpoint."""
    found = [None]
    if rank == 0 and os.path.exists(path):
        with open(path, "rb") as file:
            found = [file.read()]
    dist.broadcast_object_list(found, src=0)
    return None if found[0] is None else torch.load(io.BytesIO(found[0]), map_location="cpu")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True, help="file; the run goes on from it if it is there")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64, help="samples of one step, all ranks together")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--every", type=int, default=20, help="steps from one checkpoint to the next")
    parser.add_argument("--step-time", type=float, default=0.0, help="seconds that a step takes at least")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")

    torch.manual_seed(arguments.seed)
    inputs = torch.randn(arguments.samples, 20)
    targets = torch.sin(inputs.sum(dim=1, keepdim=True))
    model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    place = {"step": 0, "epoch": 0, "consumed": 0}

    state = load(arguments.checkpoint, rank)
    if state is not None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        place = state["place"]
    print(f"rank {rank} of {world} begins at step {place['step']}", flush=True)

    def order_of(epoch):
        return torch.randperm(arguments.samples, generator=torch.Generator().manual_seed(arguments.seed * 1_000_003 + epoch))

    order = order_of(place["epoch"])
    while place["step"] < arguments.steps:
        began = time.monotonic()
        size = min(arguments.batch, arguments.samples - place["consumed"])
        mine = batch_of(order, place["consumed"], size, rank, world)
        optimizer.zero_grad(set_to_none=False)
        # The sum over this rank's samples, divided by all samples of the step: then the sum over ranks is the mean.
        error = ((model(inputs[mine]) - targets[mine]) ** 2).sum() / size
        error.backward()
        for parameter in model.parameters():
            if parameter.grad is None:  # a rank without a sample
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)
        optimizer.step()
        place["step"] += 1
        place["consumed"] += size
        if place["consumed"] >= arguments.samples:
            place["consumed"] = 0
            place["epoch"] += 1
            order = order_of(place["epoch"])
        if rank == 0 and (place["step"] % arguments.every == 0 or place["step"] == arguments.steps):
            save(arguments.checkpoint, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "place": place})
        left = arguments.step_time - (time.monotonic() - began)
        if left > 0:
            time.sleep(left)

    with torch.no_grad():
        loss = ((model(inputs) - targets) ** 2).mean().item()
    if rank == 0:
        print(f"done: {place['step']} steps, {place['epoch']} epochs, loss {loss:.4f}", flush=True)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
