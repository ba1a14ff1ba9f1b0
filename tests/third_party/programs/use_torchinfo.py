"""torchinfo: summaries of a conv net, a recurrent net and a transformer layer."""

import torch
import torch.nn.functional as F
from torch import nn
from torchinfo import summary


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5)
        self.drop = nn.Dropout2d(0.3)
        self.fc = nn.Linear(320, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop(self.conv2(x)), 2))
        return F.log_softmax(self.fc(x.view(-1, 320)), dim=1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 30)
        self.lstm = nn.LSTM(30, 8, num_layers=2, batch_first=True)
        self.output = nn.Linear(8, 20)

    def forward(self, x):
        return self.output(self.lstm(self.embedding(x))[0])


columns = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable", "params_percent")
print(summary(Conv(), input_size=(16, 1, 28, 28), verbose=0))
print(summary(Conv(), (1, 1, 28, 28), col_names=columns, row_settings=("var_names", "depth"), verbose=0))
print(summary(Recurrent(), (1, 100), dtypes=[torch.long], verbose=0))
print(summary(nn.TransformerEncoderLayer(8, 2, 16), (4, 2, 8), verbose=0))
print(summary(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), input_data=torch.ones(3, 4), verbose=0))
print(summary(Conv(), verbose=0))
statistics = summary(Conv(), input_data=torch.ones(5, 1, 28, 28), verbose=0)
print(statistics.total_input, statistics.total_output_bytes, statistics.total_param_bytes, statistics.total_mult_adds)
