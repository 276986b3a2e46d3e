"""The networks, on graphs of any form; no file, config or device is known here.

Modules:
  plain: the paper's equations, word for word: the page to read first
  network: the recurrent relational network
  messages: the message function, and which way of summing messages is the fastest
  aggregation: any message function, per edge: the general path
  node_updates: the paper's node update, and the interface of one's own
  graphs: who sends to whom: sparse, regular, fully connected graphs, and unions
  relu_sums: faster sums of messages: regular graphs, one hidden layer
  edge_layers: faster sums of messages: regular graphs, more layers, bfloat16
  compiled_edge_layers: the same for what XLA compiles, on GPUs
  layers: dense layer, MLP, embedding
  cells: LSTM and GRU
  convolution: convolutions, for tasks on images
  sentences: an LSTM over words, each distinct beginning of a sentence once
  readout: one answer for each graph, its loss and accuracy
  loops: many steps as a loop that XLA compiles once
  recompute: activations that are computed again in the backward pass
  gradients: gradients of one's own, with their types
  checks: wrong calls, named
"""
