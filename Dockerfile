# An image of this checkout, for GPUs and CPUs: docs/guide/faq.md says how it is run.
FROM python:3.12-slim
WORKDIR /rrn
COPY . .
RUN pip install --no-cache-dir --editable '.[gpu]'
ENTRYPOINT ["python", "main.py"]
