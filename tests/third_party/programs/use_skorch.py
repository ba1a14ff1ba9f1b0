"""skorch: scikit-learn's pipelines, cross-validation and grid search around a network."""

import numpy as np
import torch
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, LRScheduler
from torch import nn


class Classifier(nn.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, 2))

    def forward(self, x):
        return torch.softmax(self.net(x), dim=-1)


x, y = make_classification(400, 20, n_informative=10, random_state=0)
x, y = x.astype(np.float32), y.astype(np.int64)
torch.manual_seed(0)
net = NeuralNetClassifier(
    Classifier, max_epochs=6, lr=0.1, verbose=0, callbacks=[EarlyStopping(), ("lr", LRScheduler("StepLR", step_size=2))]
)
net.fit(x, y)
print(" ".join(f"{value:.4f}" for value in net.history[:, "train_loss"]))
print(f"{net.score(x, y):.3f} {net.predict_proba(x[:3]).sum():.4f}")

torch.manual_seed(0)
plain = NeuralNetClassifier(Classifier, max_epochs=3, lr=0.1, verbose=0, train_split=None)
print(" ".join(f"{value:.3f}" for value in cross_val_score(make_pipeline(StandardScaler(), plain), x, y, cv=3)))
search = GridSearchCV(plain, {"module__hidden": [5, 20], "lr": [0.05, 0.1]}, cv=2, refit=False).fit(x, y)
print(search.best_params_)

features, target = make_regression(200, 5, random_state=0)
torch.manual_seed(0)
sizes = {"module__in_features": 5, "module__out_features": 1}
regressor = NeuralNetRegressor(nn.Linear, **sizes, max_epochs=10, lr=0.05, verbose=0)
regressor.fit(features.astype(np.float32), target.astype(np.float32)[:, None])
print(f"{regressor.history[-1, 'train_loss']:.3f}")
