"""emcoop: the laboratory for cooperation among language-model agents.

The layers, each importing only from those below it (``docs/architecture.md`` says why):

    cli  viewer  rl                      faces: command line, web page, PettingZoo
    experiment   analysis                cells x seeds in a run folder; logs -> tables, intervals, reports
    interventions                        Setup -> Setup
    episode                              the interaction loop: world x team x topology x clock -> log
    agents   topologies   metrics        who decides; who may speak to whom and when; log -> numbers
    models   envs         log            language models; worlds; the event store
    core                                 value types, errors, clock, seeds, registry, configuration

Importing this package is cheap: nothing heavy is imported before it is used.
"""

__version__ = "0.1.0"
