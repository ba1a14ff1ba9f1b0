# Pullback and NumPy, 90 MB in all, on Alpine Linux: `docker build -t pullback .`, then
# `docker run --rm -v "$PWD:/work" pullback run train.py`. `import torch` means Pullback for plain python, too.
FROM python:3.13-alpine AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY pullback pullback
RUN pip install --no-cache-dir --no-compile --prefix /installed . \
    && find /installed -name tests -path '*/numpy/*' -prune -exec rm -r {} +

FROM python:3.13-alpine
COPY --from=build /installed /usr/local
RUN apk add --no-cache libstdc++ && pullback as-torch install && adduser -D user
USER user
WORKDIR /work
ENTRYPOINT ["pullback"]
CMD ["info"]
