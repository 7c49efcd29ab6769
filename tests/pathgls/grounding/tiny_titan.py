"""A tiny slide encoder with TITAN's methods, as a folder of Transformers with code of its own."""

import json
from pathlib import Path

CODE = '''
import torch
from transformers import PretrainedConfig, PreTrainedModel


class TinyConfig(PretrainedConfig):
    model_type = "tiny_titan"


class Slide(torch.nn.Module):
    """The mean of the features, moved by where the patches lie on the grid."""

    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Parameter(torch.eye(3, 4))

    def forward(self, features, places, side):
        grid = torch.div(places, side, rounding_mode="floor").float()
        return features.mean(dim=1) + 0.01 * grid.sum(dim=(1, 2)).reshape(-1, 1)


class Text(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4))

    def tokenizer(self, texts):
        return torch.tensor([[ord(c) for c in text[:4]] + [0] for text in texts])

    def forward(self, tokens):
        return tokens.float() * self.scale, None


class Patch(torch.nn.Module):
    def forward(self, pictures):
        return pictures.mean(dim=(2, 3))


class TinyTitan(PreTrainedModel):
    config_class = TinyConfig

    def __init__(self, config):
        super().__init__(config)
        self.vision_encoder = Slide()
        self.text_encoder = Text()
        self.post_init()

    def _init_weights(self, module):
        pass

    def return_conch(self):
        import numpy

        def prepare(picture):
            return torch.from_numpy(numpy.array(picture)).permute(2, 0, 1).float()

        return Patch(), prepare

    def encode_slide_from_patch_features(self, patch_features, patch_coords, patch_size_lv0):
        return self.vision_encoder(patch_features, patch_coords, patch_size_lv0)

    def encode_text(self, input_ids, normalize=False):
        rows, _ = self.text_encoder(input_ids[:, :-1])
        return torch.nn.functional.normalize(rows, dim=-1) if normalize else rows
'''


def write_titan(folder: Path) -> Path:
    """The folder, with configuration, code and weights."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    auto = {"AutoConfig": "modeling.TinyConfig", "AutoModel": "modeling.TinyTitan"}
    config = {"model_type": "tiny_titan", "architectures": ["TinyTitan"], "auto_map": auto}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling.py").write_text(CODE)
    weights = {"vision_encoder.proj": torch.eye(3, 4), "text_encoder.scale": torch.ones(4)}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder
