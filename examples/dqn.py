"""Deep Q-learning on a small world: find the goal on a 4 x 4 board without falling into a hole."""

import random
import sys
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
torch.set_default_dtype(torch.float64)


class Board:
    """Start at the top left, goal at the bottom right; two fields are holes."""

    moves = ((-1, 0), (1, 0), (0, -1), (0, 1))
    holes = {(1, 1), (2, 3)}

    def reset(self):
        self.place, self.steps = (0, 0), 0
        return self.observe()

    def observe(self):
        state = torch.zeros(16)
        state[4 * self.place[0] + self.place[1]] = 1.0
        return state

    def step(self, action):
        row, column = (min(3, max(0, here + move)) for here, move in zip(self.place, self.moves[action]))
        self.place, self.steps = (row, column), self.steps + 1
        if self.place == (3, 3):
            return self.observe(), 1.0, True
        if self.place in self.holes:
            return self.observe(), -1.0, True
        return self.observe(), -0.02, self.steps >= 30


torch.manual_seed(0)
random.seed(0)
board = Board()
policy = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
target = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
memory = deque(maxlen=2000)
returns = []

for episode in range(episodes):
    state, total, done = board.reset(), 0.0, False
    exploration = max(0.05, 1.0 - episode / (0.6 * episodes))
    while not done:
        if random.random() < exploration:
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = policy(state).argmax().item()
        following, reward, done = board.step(action)
        memory.append((state, action, reward, following, done))
        state, total = following, total + reward
        if len(memory) < 64:
            continue
        states, actions, rewards, followings, dones = zip(*random.sample(memory, 32))
        q = policy(torch.stack(states)).gather(1, torch.tensor(actions).unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            future = target(torch.stack(followings)).max(dim=1).values
            goal = torch.tensor(rewards) + 0.95 * future * (1 - torch.tensor(dones).double())
        loss = F.smooth_l1_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy.parameters(), 1.0)
        optimizer.step()
    returns.append(total)
    if episode % 2 == 0:
        target.load_state_dict(policy.state_dict())
    if (episode + 1) % max(1, episodes // 4) == 0:
        recent = returns[-max(1, episodes // 4) :]
        print(f"episode {episode + 1:4d}  mean return {sum(recent) / len(recent):.3f}")

state, done, path = board.reset(), False, []
while not done:
    state, reward, done = board.step(policy(state).argmax().item())
    path.append(board.place)
print("greedy path:", path)
