"""Learn to write, letter by letter, with a recurrent network."""

import pathlib
import sys

import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 150
text = (pathlib.Path(__file__).parent / "data" / "river.txt").read_text()
letters = sorted(set(text))
number = {letter: n for n, letter in enumerate(letters)}
data = torch.tensor([number[letter] for letter in text])


class CharRNN(nn.Module):
    def __init__(self, vocabulary, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 32)
        self.lstm = nn.LSTM(32, hidden, batch_first=True)
        self.output = nn.Linear(hidden, vocabulary)

    def forward(self, x, state=None):
        features, state = self.lstm(self.embedding(x), state)
        return self.output(features), state


torch.manual_seed(0)
model = CharRNN(len(letters))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()

for step in range(steps):
    starts = torch.randint(len(data) - 41, (16,))
    batch = torch.stack([data[s : s + 41] for s in starts])
    output, _ = model(batch[:, :-1])
    loss = loss_fn(output.reshape(-1, len(letters)), batch[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % max(1, steps // 5) == 0:
        print(f"step {step:4d}  loss {loss.item():.3f}")

print(f"last loss {loss.item():.3f}")
model.eval()
with torch.no_grad():
    letter, state, written = data[:1].view(1, 1), None, []
    for _ in range(60):
        output, state = model(letter, state)
        letter = output[:, -1].argmax(dim=-1, keepdim=True)
        written.append(letters[letter.item()])
print(repr("".join(written)))
