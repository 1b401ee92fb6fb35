//! `pi serve --install`: the server as a service of the user, by systemd or launchd.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use pi_base::process::{Rights, Variables, command};
use pi_coding_agent::Environment;
use pi_fs::Access;

use super::plan::Plan;
use crate::exit::{Exit, Failure, note};
use crate::flags::parse::CommandArgs;

/// Name of the service.
const NAME: &str = "pi-serve";

/// Label of the launchd agent.
const LABEL: &str = "pi.serve";

/// A service file, and the commands that start and end it.
struct Service {
    path: PathBuf,
    start: Vec<Vec<String>>,
    end: Vec<Vec<String>>,
}

/// Writes the service and starts it.
pub(super) fn install(args: &CommandArgs) -> Result<ExitCode, Failure> {
    let environment = environment()?;
    // What the service would refuse is refused here.
    Plan::new(args, environment.clone()).map_err(|error| Failure::new(error, Exit::Usage))?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::from(format!("cannot find the program: {error}")))?;
    let mut words = vec![program.to_string_lossy().into_owned(), "serve".to_owned()];
    for (name, value) in args.given() {
        if matches!(name, "install" | "open" | "no-qr") {
            continue;
        }
        words.push(match value {
            Some(value) => format!("--{name}={}", absolute(name, value, &environment)),
            None => format!("--{name}"),
        });
    }
    let service = service(&environment)?;
    let directory = environment.cwd.to_string_lossy().into_owned();
    let text = match cfg!(target_os = "macos") {
        true => launchd(&words, &directory),
        false => systemd(&words, &directory),
    };
    let failed = |error: std::io::Error| {
        Failure::from(format!("cannot write {}: {error}", service.path.display()))
    };
    if let Some(parent) = service.path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    pi_fs::write(&service.path, Access::Private, text.as_bytes()).map_err(failed)?;
    note(&format!("wrote {}", service.path.display()));
    for words in &service.start {
        execute(words)?;
    }
    note("the server runs; make a token with `pi serve token add NAME --right admin`");
    note("it has the keys of auth.json and of the settings, not those of this shell");
    Ok(Exit::Completed.into())
}

/// Ends the service and removes it.
pub(super) fn uninstall() -> Result<ExitCode, Failure> {
    let service = service(&environment()?)?;
    if !service.path.exists() {
        let message = format!("{} does not exist", service.path.display());
        return Err(Failure::from(message).with_hint("the server was not installed".to_owned()));
    }
    for words in &service.end {
        // One that does not run cannot be ended.
        if let Err(failure) = execute(words) {
            note(&failure.message);
        }
    }
    std::fs::remove_file(&service.path).map_err(|error| {
        Failure::from(format!("cannot remove {}: {error}", service.path.display()))
    })?;
    note(&format!("removed {}", service.path.display()));
    Ok(Exit::Completed.into())
}

fn environment() -> Result<Environment, Failure> {
    crate::environment::read().map_err(|error| Failure::new(error, Exit::Configuration))
}

/// Returns a value as the service needs it: paths do not depend on a directory.
fn absolute(name: &str, value: &str, environment: &Environment) -> String {
    let is_path = matches!(
        name,
        "tls-cert" | "tls-key" | "token-file" | "directory" | "session-dir" | "rules" | "add-dir"
    );
    match is_path {
        true => environment.expand(value, &environment.cwd).to_string_lossy().into_owned(),
        false => value.to_owned(),
    }
}

fn service(environment: &Environment) -> Result<Service, Failure> {
    let home = || {
        let message = "the home directory is not known";
        environment.home.clone().ok_or_else(|| Failure::new(message, Exit::Configuration))
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    if cfg!(target_os = "macos") {
        let path = home()?.join(format!("Library/LaunchAgents/{LABEL}.plist"));
        let file = path.to_string_lossy().into_owned();
        let with = |verb: &str| {
            vec!["launchctl".to_owned(), verb.to_owned(), "-w".to_owned(), file.clone()]
        };
        return Ok(Service { start: vec![with("load")], end: vec![with("unload")], path });
    }
    if !cfg!(target_os = "linux") {
        let message = "services are supported on Linux (systemd) and macOS (launchd)";
        return Err(Failure::new(message, Exit::Unavailable));
    }
    let configuration = match environment.variable("XDG_CONFIG_HOME") {
        Some(directory) => PathBuf::from(directory),
        None => home()?.join(".config"),
    };
    Ok(Service {
        path: configuration.join(format!("systemd/user/{NAME}.service")),
        start: vec![
            words("systemctl --user daemon-reload"),
            words(&format!("systemctl --user enable {NAME}.service")),
            words(&format!("systemctl --user restart {NAME}.service")),
        ],
        end: vec![words(&format!("systemctl --user disable --now {NAME}.service"))],
    })
}

fn execute(words: &[String]) -> Result<(), Failure> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let mut command = command(program, None, Variables::Inherited, Rights::User);
    let shown = words.join(" ");
    match command.args(arguments).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::from(format!("`{shown}` failed: {status}"))),
        Err(error) => Err(Failure::from(format!("cannot run `{shown}`: {error}"))),
    }
}

/// Returns the unit of systemd.
fn systemd(words: &[String], directory: &str) -> String {
    let command: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!(
        "[Unit]\nDescription=Sessions of pi in the browser\nAfter=network.target\n\n\
         [Service]\nExecStart={}\nWorkingDirectory={}\nRestart=on-failure\nRestartSec=2\n\n\
         [Install]\nWantedBy=default.target\n",
        command.join(" "),
        directory.replace('%', "%%"),
    )
}

/// Quotes a word of `ExecStart`: specifiers and variables stand for themselves.
fn quoted(word: &str) -> String {
    let mut text = String::from("\"");
    for char in word.chars() {
        match char {
            '"' | '\\' => {
                text.push('\\');
                text.push(char);
            }
            '%' => text.push_str("%%"),
            '$' => text.push_str("$$"),
            '\n' => text.push_str("\\n"),
            char => text.push(char),
        }
    }
    text.push('"');
    text
}

/// Returns the property list of launchd.
fn launchd(words: &[String], directory: &str) -> String {
    let mut arguments = String::new();
    for word in words {
        let _ = writeln!(arguments, "    <string>{}</string>", escaped(word));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>{LABEL}</string>\n  \
         <key>ProgramArguments</key>\n  <array>\n{arguments}  </array>\n  \
         <key>WorkingDirectory</key>\n  <string>{}</string>\n  \
         <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <true/>\n</dict>\n</plist>\n",
        escaped(directory),
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_themselves_in_a_unit() {
        let words = ["/opt/my pi/pi", "serve", "--public-url=https://x/%20$HOME", "a\"b\\c"];
        let unit = systemd(&words.map(str::to_owned), "/home/me/100%");
        let line = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert_eq!(
            line,
            r#"ExecStart="/opt/my pi/pi" "serve" "--public-url=https://x/%%20$$HOME" "a\"b\\c""#
        );
        assert!(unit.contains("\nWorkingDirectory=/home/me/100%%\n"), "{unit}");
    }

    #[test]
    fn words_stand_for_themselves_in_a_property_list() {
        let list = launchd(&["/a&b".to_owned(), "<x>".to_owned()], "/d");
        assert!(
            list.contains("<string>/a&amp;b</string>\n    <string>&lt;x&gt;</string>"),
            "{list}"
        );
    }
}
