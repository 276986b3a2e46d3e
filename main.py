"""Trains, evaluates, exports or shows a recurrent relational network; see `rrn/__main__.py`.

python main.py --config configs/babi.py --devices 0,1,2,3
python main.py --config configs/babi.py:quick --config.train.learning_rate=1e-3
"""

from rrn.__main__ import start

if __name__ == "__main__":
    start()
