"""Runs the repair tasks with a real model and counts how many are solved.

usage: run.py --url URL --model ID --subject NAME=COMMAND... [--only TASK] [--timeout SECONDS]

COMMAND is a shell command in which $GOAL and $CHECK stand for the goal and the check of the task; it
runs in a fresh copy of the task with a HOME of its own. After it, the check runs on the original
check.py: this decides, not what the subject says. A subject that exits 0 after `pi run` although the
check fails has lied, and the whole run fails.
"""
import argparse, json, os, pathlib, shutil, signal, subprocess, sys, tempfile, time

CHECK = "python3 check.py"


def home(directory, url, model):
    agent = directory / ".pi" / "agent"
    agent.mkdir(parents=True)
    record = {"id": model, "contextWindow": 16384, "maxTokens": 2048}
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": [record]}
    (agent / "models.json").write_text(json.dumps({"providers": {"local": provider}}))
    settings = {"defaultProvider": "local", "defaultModel": model}
    (agent / "settings.json").write_text(json.dumps(settings))


def attempt(task, command, args):
    with tempfile.TemporaryDirectory(prefix="pi-repair-") as place:
        place = pathlib.Path(place)
        home(place / "home", args.url, args.model)
        work = place / "work"
        work.mkdir()
        for name, content in task["files"].items():
            (work / name).write_text(content)
        environment = {
            "HOME": str(place / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
            "PI_OFFLINE": "1", "GOAL": task["goal"], "CHECK": CHECK,
        }
        started = time.monotonic()
        process = subprocess.Popen(
            ["sh", "-c", command], cwd=work, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=args.timeout)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            code = "time"
        seconds = time.monotonic() - started
        if args.keep:
            kept = pathlib.Path(args.keep) / f"{args.current}-{task['name']}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(place, kept, symlinks=True)
            (kept / "output.txt").write_bytes(output)
        (work / "check.py").write_text(task["files"]["check.py"])
        solved = subprocess.run(["sh", "-c", CHECK], cwd=work, capture_output=True).returncode == 0
        return {"task": task["name"], "solved": solved, "exit": code, "seconds": round(seconds, 1)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--subject", action="append", required=True)
    parser.add_argument("--only")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--keep")
    args = parser.parse_args()
    tasks = json.loads(pathlib.Path(__file__).with_name("tasks.json").read_text())
    lies = 0
    for subject in args.subject:
        name, command = subject.split("=", 1)
        args.current = name
        solved = 0
        for task in tasks:
            if args.only and task["name"] != args.only:
                continue
            result = attempt(task, command, args)
            solved += result["solved"]
            lied = "$CHECK" in command and result["exit"] == 0 and not result["solved"]
            lies += lied
            print(name, json.dumps(result), "LIE" if lied else "", flush=True)
        print(f"{name}: {solved} solved", flush=True)
    sys.exit(1 if lies else 0)


main()
