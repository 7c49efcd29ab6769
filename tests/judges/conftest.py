"""A fake language-model server, and an environment without keys and proxies."""

from tests.support.judge_fixtures import _alone, here, loopback
