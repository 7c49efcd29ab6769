"""How the models of HistoEval were trained and measured."""
