//! Standard streams that are closed, full, or carry too much data.

use std::fs;
use std::process::{Command, Stdio};

use crate::scenarios::format::{Part, Reply, Status};

use super::{ServerEnv, finish};

/// Returns a pipe whose reader is closed, as in `pi | head -0`.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Runs a command with this stdout. Returns the exit code and stderr.
fn run(mut command: Command, stdout: Stdio) -> (Option<i32>, String) {
    let child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    // Closes our ends of the pipes.
    drop(command);
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_closed_stdout_ends_the_program_silently() {
    for arguments in [&["-p", "Hello"][..], &["--mode", "json", "Hello"], &["--help"]] {
        let env = ServerEnv::with_answer();
        let result = run(env.command(arguments), closed_pipe());
        assert_eq!(result, (Some(141), String::new()), "{arguments:?}");
        if arguments.contains(&"-p") {
            // The answer is saved nevertheless.
            let sessions = env.sessions();
            assert!(fs::read_to_string(&sessions[0]).unwrap().contains("An answer."));
        }
    }
}

#[test]
fn rpc_mode_ends_when_stdout_is_closed() {
    let env = ServerEnv::with_answer();
    let mut command = env.command(&["--mode", "rpc"]);
    // The input stays open, so only the closed output ends the program.
    let (reader, mut writer) = std::io::pipe().unwrap();
    command.stdin(reader);
    std::io::Write::write_all(&mut writer, b"{\"type\":\"get_state\"}\n").unwrap();
    assert_eq!(run(command, closed_pipe()), (Some(141), String::new()));
}

#[test]
fn output_that_cannot_be_written_is_reported() {
    for arguments in [&["-p", "Hello"][..], &["--mode", "json", "Hello"]] {
        let env = ServerEnv::with_answer();
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (code, stderr) = run(env.command(arguments), full.into());
        assert_eq!(code, Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains("cannot write the output: No space left"), "{stderr}");
    }
}

/// Standard streams may be closed from the start.
#[test]
fn closed_standard_streams_are_not_errors() {
    let script = |closed: &str| format!("exec \"$0\" \"$@\" {closed}");
    for mode in ["-p", "--mode=json"] {
        for closed in ["<&-", "2>&-", "<&- 2>&-"] {
            let env = ServerEnv::with_answer();
            let pi = env.command(&[mode, "Hello"]);
            let mut shell = Command::new("sh");
            shell.args(["-c", &script(closed)]).arg(pi.get_program());
            let result = finish(super::rebased(&pi, shell), &[]);
            assert_eq!(result.code, Some(0), "{mode} {closed}: {result:?}");
            assert!(result.stdout.contains("An answer."), "{mode} {closed}: {result:?}");
            result.assert_stderr(&[]);
        }
    }
    let env = ServerEnv::with_answer();
    let pi = env.command(&["--mode", "rpc"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script("<&-")]).arg(pi.get_program());
    let result = finish(super::rebased(&pi, shell), &[]);
    assert_eq!((result.code, result.stdout.as_str()), (Some(0), ""), "{result:?}");
}

/// Input that no model can read is not read to its end, and no request is sent.
#[test]
fn too_large_piped_input_is_refused() {
    for mode in ["-p", "--mode=json"] {
        let env = ServerEnv::with_answer();
        let input = vec![b'x'; 100_000_000];
        let result = finish(env.command(&[mode, "Hello"]), &input);
        result.assert_failed(1, &["larger than 32 MB", "pass the name of a file instead"]);
        assert!(env.server.requests().is_empty());
        assert!(env.sessions().is_empty());
    }
}

#[test]
fn invalid_utf8_on_stdin_is_replaced() {
    let env = ServerEnv::with_answer();
    let result = finish(env.command(&["-p"]), b"\xef\xbb\xbfread \xff\xfe this\n");
    result.assert_answered(&["the piped input is not UTF-8; invalid bytes are replaced"]);
    let request = env.server.requests()[0].to_string();
    assert!(request.contains("read \u{fffd}\u{fffd} this"), "{request}");
    let env = ServerEnv::with_answer();
    let result = finish(env.command(&["-p", "What is it?"]), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    result.assert_answered(&["the piped input is binary", "@FILE"]);
}

#[test]
fn attached_files_are_read() {
    let env = ServerEnv::with_answer();
    let project = env.project();
    fs::write(project.join("large.txt"), "large ".repeat(10_000_000 / 6)).unwrap();
    let result = env.run(&["-p", "@large.txt", "Hello"]);
    result.assert_answered(&["large.txt (9.5MB): too large, so only the beginning is included"]);
    assert!(env.server.requests()[0].to_string().contains("large large"));

    let env = ServerEnv::with_answer();
    env.run(&["-p", "@none.txt", "Hello"]).assert_failed(1, &["File not found", "none.txt"]);
    env.run(&["-p", "@.", "Hello"]).assert_failed(1, &["Not a file"]);
    assert!(env.server.requests().is_empty());
}

#[test]
fn an_empty_prompt_is_a_usage_error() {
    for input in ["", " \n\t\n"] {
        let env = ServerEnv::with_answer();
        let result = finish(env.command(&["-p"]), input.as_bytes());
        result.assert_failed(2, &["pi: no prompt given", "hint: pass a message or pipe one in"]);
        assert!(env.server.requests().is_empty() && env.sessions().is_empty());
    }
}

/// A model must not control the terminal. Other programs get the answer unchanged.
#[test]
fn control_characters_are_removed_on_a_terminal() {
    let answer = "An \u{1b}[31manswer\u{9b}2J\u{7}.\tEnd";
    let env = ServerEnv::new(vec![Reply::Text(answer.to_owned()); 2]);
    let result = env.run(&["-p", "Hello"]);
    assert_eq!(result.stdout, format!("{answer}\n"));
    let pi = env.command(&["-p", "Hello"]);
    // `script` runs a program on a pseudo-terminal.
    let mut script = Command::new("script");
    let program = format!("'{}' -p Hello", pi.get_program().to_str().unwrap());
    script.args(["--quiet", "--return", "--command", &program, "/dev/null"]);
    script.current_dir(pi.get_current_dir().unwrap()).env_clear().stdin(Stdio::null());
    script.envs(pi.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let result = finish(script, &[]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_eq!(result.stdout.trim(), "An [31manswer2J.\tEnd", "{result:?}");
}

/// Errors may quote servers.
#[test]
fn control_characters_are_removed_from_errors() {
    let status = Status {
        code: 400,
        headers: Default::default(),
        body: "no \u{1b}]0;title\u{7} here".into(),
    };
    let env = ServerEnv::new(vec![Reply::Parts(vec![Part::Status(status)])]);
    env.run(&["-p", "Hello"]).assert_failed(1, &["(400): no ]0;title here"]);
}
