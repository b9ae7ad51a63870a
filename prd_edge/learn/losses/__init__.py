"""The three terms of PRD's objective, L = L_sc + α L_p + β L_d, one file each."""

from prd_edge.learn.losses.relation import relation_distillation
from prd_edge.learn.losses.supcon import supervised_contrastive
from prd_edge.learn.losses.tightness import prototype_tightness

__all__ = ["prototype_tightness", "relation_distillation", "supervised_contrastive"]
