"""A loop together with what it knows, for tests that play one round after another."""

from ffml.online import loop as online


class Player:
    """Plays tasks, and keeps the newest state."""

    def __init__(self, loop, state=None):
        self.loop = loop
        self.state = online.start(loop) if state is None else state

    @classmethod
    def of(cls, experiment):
        return cls(experiment.loop, experiment.state)

    def step(self, task):
        self.state, record = online.step(self.loop, self.state, task)
        return record

    def play(self, tasks):
        return [self.step(task) for task in tasks]

    @property
    def learner(self):
        return self.loop.learner

    @property
    def memory(self):
        return self.state.memory

    @property
    def known(self):
        return online.known(self.loop, self.state)

    @property
    def knowledge(self):
        return online.knowledge(self.loop, self.state)

    @property
    def pair(self):
        return online.pair(self.loop, self.state)
