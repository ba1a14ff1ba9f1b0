"""What a wrong argument or input raises, or warns, in a layer: the same exception and text as in torch."""

import pytest
from nn.transcripts import compare

import pullback

torch = pytest.importorskip("torch")

EXPRESSIONS = [
    "nn.Conv2d(3, 4, 3, groups=2)",
    "nn.Conv2d(4, 3, 3, groups=2)",
    "nn.Conv2d(2, 2, 3, groups=0)",
    "nn.Conv2d(2, 2, 3, padding='same', stride=2)",
    "nn.ConvTranspose2d(2, 2, 3, padding_mode='reflect')",
    "nn.LazyConv2d(2, 3)(torch.ones(2, 2))",
    "nn.LazyConv2d(4, 3, groups=2)(torch.ones(1, 3, 4, 4))",
    "nn.Bilinear(0, 2, 2)",
    "nn.GroupNorm(2, 3)",
    "nn.BatchNorm1d(2)(torch.ones(2))",
    "nn.BatchNorm2d(2)(torch.ones(2, 2))",
    "nn.InstanceNorm1d(2, affine=True)(torch.ones(2, 3, 4))",
    "nn.InstanceNorm1d(2)(torch.ones(2, 3, 4))",
    "nn.Softmax2d()(torch.ones(2))",
    "nn.CircularPad1d(1)(torch.ones(2))",
    "nn.Dropout(1.5)",
    "nn.Hardtanh(2, 1)",
    "nn.Hardtanh(min_value=-3.0)",
    "nn.Unflatten(1, 3)",
    "nn.Unflatten(1, (2, 1.5))",
    "nn.FractionalMaxPool2d(2)",
    "nn.FractionalMaxPool2d(2, 2, 0.5)",
    "nn.FractionalMaxPool3d(2, output_ratio=2)",
    "nn.Embedding(3, 2, 5)",
    "nn.Embedding.from_pretrained(torch.ones(2))",
    "nn.Embedding.from_pretrained(torch.ones(2, 3)).weight",
    "nn.EmbeddingBag.from_pretrained(torch.ones(2, 3)).weight.requires_grad",
    "nn.HuberLoss(delta='x')",
    "nn.MultiMarginLoss(3)",
    "nn.TripletMarginLoss(-1)",
    "nn.NLLLoss2d()",
    "nn.MSELoss(size_average=False).reduction",
    "nn.MSELoss(reduce=False).reduction",
    "nn.MSELoss(size_average=True).reduction",
    "nn.RNN(3, 0)",
    "nn.RNN(-1, 2)",
    "nn.RNN(3, 4, 0)",
    "nn.RNN(3, 4, nonlinearity='x')",
    "nn.RNN(3, 4, proj_size=2)",
    "nn.LSTM(3, 4, proj_size=4)",
    "nn.LSTM(3, 4, proj_size=-1)",
    "nn.GRU(3, 4, dropout=2)",
    "nn.GRU(3, 4, dropout=0.5)",
    "nn.GRU(3, 4, bias=1)",
    "nn.GRU(3.0, 4)",
    "nn.GRU(3, 4, batch_first='x')",
    "nn.RNNBase('X', 3, 4)",
    "nn.LSTM(3, 4)(torch.ones(3))",
    "nn.LSTM(3, 4)(torch.ones(5, 2, 2))",
    "nn.LSTM(3, 4)(torch.ones(5, 2, 3).double())",
    "nn.LSTM(3, 4)(torch.ones(5, 2, 3), (torch.ones(5, 2, 3), torch.ones(5, 2, 3)))",
    "nn.LSTM(3, 4)(torch.ones(5, 2, 3), (torch.ones(2, 3), torch.ones(2, 3)))",
    "nn.LSTM(3, 4)(torch.ones(2, 3), (torch.ones(5, 2, 3), torch.ones(5, 2, 3)))",
    "nn.LSTM(3, 4)(torch.ones(0, 2, 3))",
    "nn.GRU(3, 4)(torch.ones(5, 2, 3), torch.ones(5, 2, 3))",
    "nn.GRU(3, 4)(torch.ones(5, 2, 3), torch.ones(2, 3))",
    "nn.GRU(3, 4)(torch.ones(2, 3), torch.ones(5, 2, 3))",
    "nn.GRUCell(3, 4)(torch.ones(5, 2, 3))",
    "nn.GRUCell(3, 4)(torch.ones(2, 3), torch.ones(5, 2, 3))",
    "nn.LSTMCell(3, 4)(torch.ones(2, 3), (torch.ones(5, 2, 3), torch.ones(5, 2, 3)))",
    "nn.RNNCell(3, 4, nonlinearity='x')(torch.ones(2, 3))",
    "nn.MultiheadAttention(5, 2)",
    "nn.MultiheadAttention(0, 2)",
    "nn.TransformerEncoderLayer(4, 2, activation='x')",
    "nn.AdaptiveLogSoftmaxWithLoss(6, 10, [])",
    "nn.AdaptiveLogSoftmaxWithLoss(6, 10, [5, 3])",
    "nn.AdaptiveLogSoftmaxWithLoss(6, 10, [10])",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_same_exception(expression):
    compare(f"attempt(lambda: {expression})", pullback, torch)
