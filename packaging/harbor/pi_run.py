"""A Harbor agent that solves tasks with `pi run`.

    harbor run -a pi_run:PiRun --ak binary=/path/to/pi -m anthropic/claude-sonnet-4-5 -p TASK

The agent uploads the program, runs the instruction as the goal of a contract, and leaves in its logs:
report.json (the report of pi), pi.txt (the progress), sessions/ and trajectory.json (ATIF). The
verifier of the task decides about the reward; checks of pi (`--ak check=...`) only help the model.
"""

import json
import shlex
from pathlib import Path
from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.model_connection import ModelConnectionSpec
from harbor.agents.options import AgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from pydantic import Field

PROGRAM = "/usr/local/bin/pi"
HOME = "/tmp/pi-run-home"
ENDPOINT = "harbor-endpoint"

# The agent has ended, and the verifier decides: converged, failed verification, stuck, invalid
# output, limit, forbidden, needs approval, guardrail.
ENDED = {0, 4, 10, 11, 12, 13, 14, 15, 16}


class PiRunOptions(AgentOptions):
    binary: str | None = Field(default=None, description="Program on this machine, to upload.")
    check: list[str] = Field(default=[], description="Commands that have to succeed.")
    profile: str = Field(default="explore", description="Safety profile; the container isolates.")
    api: str = Field(default="openai-completions", description="Wire format of a custom endpoint.")
    thinking: str | None = Field(default=None, description="Thinking level.")
    max_turns: int | None = Field(default=None, ge=1, description="Requests to the model.")
    max_cost: float | None = Field(default=None, gt=0, description="Cost in US dollars.")
    timeout: str | None = Field(default=None, description="Time, such as 30m.")
    rounds: int | None = Field(default=None, ge=0, description="Rounds of feedback.")


class PiRun(BaseAgent):
    capabilities = AgentCapabilities(atif=True)
    MODEL_CONNECTION = ModelConnectionSpec(passthrough=True)
    options_model = PiRunOptions
    options: PiRunOptions

    @staticmethod
    @override
    def name() -> str:
        return "pi-run"

    @override
    def version(self) -> str | None:
        return getattr(self, "_program_version", None)

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        if self.options.binary is not None:
            await environment.upload_file(Path(self.options.binary), PROGRAM)
            await environment.exec(f"chmod 755 {PROGRAM}")
        found = await environment.exec("pi --version")
        if found.return_code != 0:
            raise RuntimeError(f"pi does not run in the environment: {found.stderr}")
        self._program_version = (found.stdout or "").strip()

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        if not self.model_name or "/" not in self.model_name:
            raise ValueError("the model must have the form provider/id")
        access = self.model_connection
        provider, model = self.model_name.split("/", 1)
        provider = access.provider or provider
        logs = self.environment_logs_dir
        env = {**access.env, "PI_CODING_AGENT_DIR": HOME}
        await environment.exec(f"mkdir -p {HOME} {logs}/sessions")
        if access.configured_base_url is not None:
            await self._configure_endpoint(environment, access, model)
            provider = ENDPOINT
        # A task on stdin: an instruction may look like an option, a file or a template.
        task = json.dumps({"goal": instruction.replace("{{", "\\{{")}, ensure_ascii=False)
        words = [
            "pi", "run", "-", "--model", f"{provider}/{model}",
            "--profile", self.options.profile, "--report", f"{logs}/report.json",
            *self._options(),
        ]
        ended = await environment.exec(
            f"printf %s {shlex.quote(task)} | {shlex.join(words)} >{logs}/answer.txt 2>{logs}/pi.txt",
            env=env,
        )
        await self._export(environment, env)
        if not environment.capabilities.mounted:
            await environment.download_dir(str(logs), self.logs_dir)
        self._fill(context)
        if ended.return_code not in ENDED:
            raise RuntimeError(f"pi run exited with {ended.return_code}; see pi.txt in the logs")

    async def _export(self, environment: BaseEnvironment, env: dict[str, str]) -> None:
        """Saves the session that the report names, as it is and as a trajectory."""
        logs = self.environment_logs_dir
        report = await environment.exec(f"cat {logs}/report.json")
        try:
            session = json.loads(report.stdout or "")["session"]
        except (KeyError, ValueError):
            return
        session = shlex.quote(session)
        exported = await environment.exec(
            f"cp {session} {logs}/sessions/ "
            f"&& pi sessions export {session} {logs}/trajectory.json --format atif --force",
            env=env,
        )
        if exported.return_code != 0:
            self.logger.warning("the session was not exported: %s", exported.stderr)

    def _options(self) -> list[str]:
        options = self.options
        words: list[str] = []
        for check in options.check:
            words += ["--check", check]
        for flag, value in [
            ("--thinking", options.thinking),
            ("--max-turns", options.max_turns),
            ("--max-cost", options.max_cost),
            ("--timeout", options.timeout),
            ("--rounds", options.rounds),
        ]:
            if value is not None:
                words += [flag, str(value)]
        return words

    async def _configure_endpoint(
        self, environment: BaseEnvironment, access: Any, model: str
    ) -> None:
        key = next((name for name, value in access.env.items() if value == access.api_key), None)
        provider = {
            "baseUrl": access.configured_base_url,
            "api": self.options.api,
            "apiKey": f"${key}" if key else "none",
            "models": [{"id": model}],
        }
        text = json.dumps({"providers": {ENDPOINT: provider}})
        path = f"{HOME}/models.json"
        await environment.exec(f"printf %s {shlex.quote(text)} >{path} && chmod 600 {path}")

    def _fill(self, context: AgentContext) -> None:
        """Copies the consumption from the trajectory and the outcome from the report."""
        try:
            report = json.loads((self.logs_dir / "report.json").read_text())
        except (OSError, ValueError):
            return
        spent = report["limits"]["spent"]
        context.cost_usd = spent["cost"]
        context.metadata = {"outcome": report["outcome"], "reason": report["reason"]}
        try:
            trajectory = json.loads((self.logs_dir / "trajectory.json").read_text())
        except (OSError, ValueError):
            return
        totals = trajectory["final_metrics"]
        context.n_input_tokens = totals["total_prompt_tokens"]
        context.n_output_tokens = totals["total_completion_tokens"]
        context.n_cache_tokens = totals["total_cached_tokens"]
