//! Tests of finding, selecting and reloading themes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use pi_coding_agent::Environment;
use pi_config::SettingsStore;
use pi_tui::theme::Token;
use pi_tui::{Color, ColorDepth};
use serde_json::{Map, Value, json};

use super::{Themes, directory, sources};
use crate::program::ScreenOptions;
use crate::ui::ScreenUi;

/// Writes a theme whose colors are all the same, with a time of change.
fn write(path: &Path, color: &str, second: u64) {
    let colors: Map<String, Value> =
        Token::ALL.iter().map(|token| (token.name().to_owned(), color.into())).collect();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, json!({ "name": "mine", "colors": colors }).to_string()).unwrap();
    touch(path, second);
}

fn touch(path: &Path, second: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + second);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

struct Fixture {
    home: tempfile::TempDir,
    environment: Environment,
}

fn fixture() -> Fixture {
    let home = tempfile::tempdir().unwrap();
    let environment = Environment::new(home.path().join("proj"), home.path().join("agent"));
    Fixture { home, environment }
}

fn themes(setting: &str, environment: &Environment) -> (Themes, Option<String>) {
    Themes::new(setting, ColorDepth::True, environment, &[directory(environment)])
}

#[test]
fn a_changed_file_is_read_again_and_a_broken_one_keeps_the_colors() {
    let Fixture { home, environment } = fixture();
    let path = home.path().join("agent/themes/mine.json");
    write(&path, "#ff0000", 0);
    let (mut themes, problem) = themes("mine", &environment);
    assert_eq!(problem, None);
    let color = |themes: &Themes| themes.current().fg(Token::Accent).fg;
    assert_eq!(color(&themes), Color::Rgb(255, 0, 0));

    let start = Instant::now();
    assert_eq!(themes.refresh(start), None);
    write(&path, "#00ff00", 1);
    assert_eq!(themes.refresh(start + Duration::from_millis(900)), None);
    assert_eq!(color(&themes), Color::Rgb(255, 0, 0), "it is not looked at so soon");
    assert_eq!(themes.refresh(start + Duration::from_secs(2)), None);
    assert_eq!(color(&themes), Color::Rgb(0, 255, 0));

    fs::write(&path, "{").unwrap();
    touch(&path, 2);
    let problem = themes.refresh(start + Duration::from_secs(4)).unwrap();
    assert!(problem.contains("mine.json"), "{problem}");
    assert_eq!(themes.refresh(start + Duration::from_secs(6)), None, "reported once");
    assert_eq!(color(&themes), Color::Rgb(0, 255, 0));
    fs::remove_file(&path).unwrap();
    assert_eq!(themes.refresh(start + Duration::from_secs(8)), None);
    assert_eq!(color(&themes), Color::Rgb(0, 255, 0));
}

#[test]
fn an_unknown_theme_is_reported_and_the_old_one_stays() {
    let Fixture { environment, home: _home } = fixture();
    let (mut themes, _) = themes("dark", &environment);
    assert!(themes.select("nothing").unwrap_err().contains("`nothing`"));
    assert_eq!(themes.setting(), "dark");
    themes.select("light/dark").unwrap();
    assert_eq!(themes.setting(), "light/dark");
}

#[test]
fn themes_come_from_options_the_user_and_trusted_projects() {
    let Fixture { home, environment } = fixture();
    let write = |path: &str| write(&home.path().join(path), "#000000", 0);
    ["agent/themes/user.json", "more/extra.json", "proj/.pi/themes/project.json", "given.json"]
        .iter()
        .for_each(|path| write(path));
    let more = home.path().join("more").to_string_lossy().into_owned();
    let settings = json!({ "themes": [more] });
    let store = SettingsStore::in_memory(settings.as_object().unwrap().clone());
    let given = home.path().join("given.json").to_string_lossy().into_owned();
    for (no_discovery, expected) in [
        (false, vec!["system", "dark", "light", "extra", "given", "project", "user"]),
        (true, vec!["system", "dark", "light", "given"]),
    ] {
        let options = ScreenOptions {
            themes: vec![given.clone()],
            no_theme_discovery: no_discovery,
            ..ScreenOptions::default()
        };
        let found = sources(&store, &options, &environment);
        let (themes, _) = Themes::new("system", ColorDepth::True, &environment, &found);
        assert_eq!(themes.names(), expected);
    }
}

#[test]
fn themes_of_extensions_are_added_and_forgotten() {
    use pi_coding_agent::extension::Ui as _;
    let Fixture { home, environment } = fixture();
    write(&home.path().join("agent/themes/mine.json"), "#ff0000", 0);
    write(&home.path().join("ext/mine.json"), "#0000ff", 0);
    write(&home.path().join("ext/neon.json"), "#00ff00", 0);
    let (mut themes, problem) = themes("neon", &environment);
    assert!(problem.unwrap().contains("`neon`"));
    let (ui, _requests) = ScreenUi::new();
    themes.publish(&ui);
    themes.add(&[home.path().join("ext")]);
    themes.select("neon").unwrap();
    let color = |themes: &Themes| themes.current().fg(Token::Accent).fg;
    assert_eq!(color(&themes), Color::Rgb(0, 255, 0));
    themes.publish(&ui);
    assert_eq!(ui.themes(), ["system", "dark", "light", "mine", "neon"]);
    themes.select("mine").unwrap();
    assert_eq!(color(&themes), Color::Rgb(255, 0, 0), "a theme of the user goes first");
    themes.select("neon").unwrap();
    themes.forget_added();
    assert_eq!(color(&themes), Color::Rgb(0, 255, 0), "the colors stay");
    themes.publish(&ui);
    assert_eq!(ui.themes(), ["system", "dark", "light", "mine"]);
}

#[test]
fn extensions_get_all_themes_and_the_one_in_use() {
    use pi_coding_agent::extension::Ui as _;
    let Fixture { home, environment } = fixture();
    write(&home.path().join("agent/themes/mine.json"), "#ff0000", 0);
    let (mut themes, _) = themes("mine", &environment);
    let (ui, _requests) = ScreenUi::new();
    themes.publish(&ui);
    assert_eq!(ui.themes(), ["system", "dark", "light", "mine"]);
    let current = ui.theme();
    assert_eq!(current.name, "mine");
    assert_eq!(current.foreground["accent"], "\x1b[38;2;255;0;0m");
    assert_eq!(current.background["userMessageBg"], "\x1b[48;2;255;0;0m");
    themes.select("dark").unwrap();
    themes.publish(&ui);
    assert_eq!(ui.theme().name, "dark");
}
