//! The runs that lead to the recorded screens: settings, files, and the steps of a person.
//!
//! `tests/fixtures/screens/README.md` documents the format of `runs.json`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::emulator::{Emulator, Profile, Size};
use super::frame::{self, Frame};
use super::home::{Home, RECORDED_HOME};
use super::program::Screen;

/// Time after which an expected frame counts as missing, and after another one was missing.
const TIMEOUTS: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(2)];

/// A start of the program and the frames that follow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) name: String,
    size: String,
    mode: String,
    /// A theme, on a terminal with 24-bit colors.
    theme: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    settings: Map<String, Value>,
    /// Files by their path in the home; `null` removes one. `$NOW-310d` is a time before the test.
    #[serde(default)]
    files: BTreeMap<String, Option<String>>,
    /// Scripts of the model in addition to the recorded ones.
    #[serde(default)]
    scripts: Value,
    /// The terminal supports the kitty keyboard protocol.
    #[serde(default)]
    kitty: bool,
    pub(crate) steps: Vec<String>,
    /// The reason why the run is not tested yet.
    pub(crate) pending: Option<String>,
}

/// The frame to wait for.
pub(crate) enum Expected {
    Frame(Frame),
    /// The frame is recorded: what is there when no output has come for this long.
    Quiet(Duration),
}

/// The result of a frame.
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) frame: Frame,
    pub(crate) problem: Option<String>,
}

/// The frames of a run, and the step that failed.
pub(crate) struct Played {
    pub(crate) seen: Vec<Seen>,
    pub(crate) problem: Option<String>,
}

pub(crate) fn load() -> Vec<Run> {
    serde_json::from_str(include_str!("../../fixtures/screens/runs.json")).unwrap()
}

impl Run {
    /// Returns the names of the frames.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &str> {
        let names = self.steps.iter().filter_map(|step| step.strip_prefix("frame "));
        names.map(|name| name.split(' ').next().unwrap_or_default())
    }

    fn home(&self) -> Home {
        let home = Home::with_scripts(&self.scripts);
        let mut settings = Map::from_iter([("tuiMode".to_owned(), json!(self.mode))]);
        settings.extend(self.settings.clone());
        home.settings(&settings);
        for (path, content) in &self.files {
            let path = &filled(path, &home);
            match content {
                Some(content) if content.starts_with("fixture:") => {
                    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
                    let name = &content["fixture:".len()..];
                    home.write(path, std::fs::read(fixtures.join(name)).unwrap());
                }
                Some(content) if content.starts_with("base64:") => {
                    use base64::Engine as _;
                    let engine = base64::engine::general_purpose::STANDARD;
                    home.write(path, engine.decode(&content["base64:".len()..]).unwrap());
                }
                Some(content) => home.write(path, filled(content, &home)),
                None => std::fs::remove_file(home.path(path)).unwrap(),
            }
        }
        home
    }

    /// Runs the steps and waits for the frames that `expected` gives.
    pub(crate) fn play(&self, expected: impl Fn(&str) -> Expected) -> Played {
        let home = self.home();
        let size = Size::parse(&self.size).expect("a size");
        let mut arguments: Vec<&str> = self.args.iter().map(String::as_str).collect();
        if let Some(theme) = &self.theme {
            arguments.extend(["--use-theme", theme]);
        }
        let mut command = home.command(&arguments);
        if self.theme.is_some() {
            command.env("COLORTERM", "truecolor");
        }
        let profile = Profile { kitty: self.kitty, colors: false };
        let mut player =
            Player { screen: Screen::start(&command, size, profile), home, seen: Vec::new() };
        let first = self.steps.first().map_or("", String::as_str);
        let mut problem = None;
        if !["frame ", "see "].iter().any(|word| first.starts_with(word)) {
            problem = player.see("~/proj").err();
        }
        for step in &self.steps {
            if problem.is_some() {
                break;
            }
            problem = player.step(step, &expected).map_err(|one| format!("{step}: {one}")).err();
        }
        Played { seen: player.seen, problem }
    }
}

struct Player {
    screen: Screen,
    home: Home,
    seen: Vec<Seen>,
}

impl Player {
    fn step(&mut self, step: &str, expected: &impl Fn(&str) -> Expected) -> Result<(), String> {
        let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
        match word {
            "type" => self.screen.text(rest),
            "submit" => {
                let home = self.home.path("");
                let home = home.to_str().unwrap().trim_end_matches('/');
                self.screen.submit(&rest.replace(RECORDED_HOME, home));
            }
            "press" => {
                let (key, times) = rest.split_once(" x").unwrap_or((rest, "1"));
                for _ in 0..times.parse().map_err(|_| "times")? {
                    self.screen.key(key);
                }
            }
            "paste" => {
                let words: Vec<&str> = rest.split(' ').collect();
                let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
                let text = match (words[0], number(1), number(2)) {
                    ("lines", Some(first), Some(count)) => {
                        let rows = (first..first + count).map(|row| format!("row {row}"));
                        rows.collect::<Vec<_>>().join("\n")
                    }
                    ("characters", Some(count), None) => "x".repeat(count),
                    _ => return Err("unknown paste".to_owned()),
                };
                self.screen.paste(&text);
            }
            "click" => {
                let rows = self.screen.emulator.rows();
                let row =
                    rows.iter().position(|row| row.text.contains(rest)).ok_or("no such row")?;
                for end in ["M", "m"] {
                    self.screen.text(&format!("\x1b[<0;5;{}{end}", row + 1));
                }
            }
            "mouse" => self.screen.text(&format!("\x1b[<{rest}")),
            "see" => self.see(rest)?,
            "gone" => self.screen.wait(step, TIMEOUTS[0], |emulator| count(emulator, rest) == 0)?,
            "count" => {
                let (times, text) = rest.split_once(' ').ok_or("what to count")?;
                let times: usize = times.parse().map_err(|_| "times")?;
                self.screen.wait(step, TIMEOUTS[0], |emulator| count(emulator, text) >= times)?;
            }
            "idle" => {
                let busy = |emulator: &Emulator| {
                    emulator
                        .rows()
                        .iter()
                        .any(|row| row.text.starts_with("── ") && row.text.contains(is_spinner))
                };
                self.screen.wait(step, TIMEOUTS[0], |emulator| !busy(emulator))?;
            }
            "open" => self.home.server.open(rest),
            "requests" => {
                let requests: usize = rest.parse().map_err(|_| "count")?;
                if !self.home.server.wait_for_requests(requests, TIMEOUTS[0]) {
                    return Err(self.screen.shown());
                }
            }
            "resize" => self.screen.resize(Size::parse(rest).ok_or("size")?),
            "exit" => {
                let code = self.screen.finish().code().ok_or("killed by a signal")?;
                // The shell of the recording prints this.
                self.screen.emulator.feed(format!("[exit {code}]").as_bytes());
            }
            "frame" => self.frame(rest, expected),
            _ => return Err("unknown step".to_owned()),
        }
        Ok(())
    }

    fn see(&mut self, text: &str) -> Result<(), String> {
        self.screen.wait(text, TIMEOUTS[0], |emulator| count(emulator, text) > 0)
    }

    fn frame(&mut self, rest: &str, expected: &impl Fn(&str) -> Expected) {
        let (name, scrollback) = match rest.split_once(' ') {
            Some((name, "scrollback")) => (name, true),
            _ => (rest, false),
        };
        let Self { screen, home, seen } = self;
        let take = |emulator: &Emulator| {
            Frame::of(emulator, scrollback, |row| frame::stable(&home.recorded_paths(row)))
        };
        let problem = match expected(name) {
            Expected::Quiet(quiet) => {
                let drawn = |emulator: &Emulator| emulator.switched(2026).is_some();
                let problem = screen.wait("a frame", TIMEOUTS[0], drawn).err();
                screen.settle(quiet);
                problem
            }
            Expected::Frame(expected) => {
                let failed = seen.iter().any(|frame| frame.problem.is_some());
                let result = screen.wait(name, TIMEOUTS[usize::from(failed)], |emulator| {
                    take(emulator) == expected
                });
                result.err().map(|_| changed(&expected, &take(&screen.emulator)))
            }
        };
        let frame = take(&screen.emulator);
        seen.push(Seen { name: name.to_owned(), frame, problem });
    }
}

/// Describes how a frame differs from the expected one.
fn changed(expected: &Frame, seen: &Frame) -> String {
    let mut text = String::new();
    for at in 0..expected.rows.len().max(seen.rows.len()) {
        let [old, new] =
            [expected, seen].map(|frame| frame.rows.get(at).map_or("", String::as_str));
        let mark = if old == new { ' ' } else { '-' };
        text.push_str(&format!("{mark}|{old}\n"));
        if old != new {
            text.push_str(&format!("+|{new}\n"));
        }
    }
    if expected.rows == seen.rows {
        let styles = |frame: &Frame| {
            let text = frame.text();
            text.split_once("\nstyles\n").map(|(_, styles)| styles.to_owned()).unwrap_or_default()
        };
        let (old, new) = (styles(expected), styles(seen));
        for line in old.lines().filter(|line| !new.lines().any(|other| other == *line)) {
            text.push_str(&format!("-{line}\n"));
        }
        for line in new.lines().filter(|line| !old.lines().any(|other| other == *line)) {
            text.push_str(&format!("+{line}\n"));
        }
    }
    text
}

/// Returns how many rows of the screen and of the scrollback contain a text.
fn count(emulator: &Emulator, text: &str) -> usize {
    let rows = emulator.scrollback().into_iter().chain(emulator.rows());
    rows.filter(|row| row.text.contains(text)).count()
}

fn is_spinner(letter: char) -> bool {
    ('⠀'..='⣿').contains(&letter)
}

/// Replaces `$HOME`, `$SLUG` (its name in paths of sessions) and times before now, such as `$NOW-310d` and `$MS-310d` (milliseconds).
fn filled(text: &str, home: &Home) -> String {
    let now = std::time::SystemTime::now();
    let since = |days: u64| {
        let then = now - Duration::from_secs(days * 86_400);
        then.duration_since(std::time::UNIX_EPOCH).unwrap()
    };
    let days = regex_lite::Regex::new(r"\$(NOW|MS)-(\d+)d").unwrap();
    let root = home.path("");
    let root = root.to_str().unwrap().trim_end_matches('/');
    let text = text.replace("$HOME", root).replace("$SLUG", &root[1..].replace('/', "-"));
    let filled = days.replace_all(&text, |found: &regex_lite::Captures<'_>| {
        let since = since(found[2].parse().unwrap());
        if &found[1] == "MS" {
            return since.as_millis().to_string();
        }
        jiff::Timestamp::from_millisecond(since.as_millis() as i64).unwrap().to_string()
    });
    filled.into_owned()
}
