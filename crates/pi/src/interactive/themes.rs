//! The theme in use, and those that can be selected: built in, or files of the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use pi_coding_agent::Environment;
use pi_tui::ColorDepth;
use pi_tui::theme::{TerminalColors, Theme, ThemeChoice};

/// The theme in use and its sources.
pub(super) struct Themes {
    choice: ThemeChoice,
    current: Rc<Theme>,
    colors: TerminalColors,
    depth: ColorDepth,
    /// Files of themes, by name.
    files: BTreeMap<String, PathBuf>,
}

impl Themes {
    /// Selects a theme by the value of the setting.
    pub(super) fn new(
        setting: Option<&str>,
        depth: ColorDepth,
        environment: &Environment,
        more: &[PathBuf],
    ) -> (Self, Option<String>) {
        let colors = TerminalColors {
            colorfgbg: environment.variable("COLORFGBG").map(str::to_owned),
            ..TerminalColors::default()
        };
        let files = find(&environment.agent_directory.join("themes"), more);
        let choice = ThemeChoice::from_setting(setting.unwrap_or("system"));
        let mut themes = Self { choice, current: Rc::new(Theme::plain()), colors, depth, files };
        let problem = themes.apply().err();
        (themes, problem)
    }

    pub(super) fn current(&self) -> Rc<Theme> {
        Rc::clone(&self.current)
    }

    /// Returns the names of all themes.
    pub(super) fn names(&self) -> Vec<String> {
        let builtin = pi_tui::theme::choice::BUILTIN.iter().map(|name| (*name).to_owned());
        builtin.chain(self.files.keys().cloned()).collect()
    }

    /// Selects another theme. On failure the old one stays.
    pub(super) fn select(&mut self, setting: &str) -> Result<(), String> {
        let previous = std::mem::replace(&mut self.choice, ThemeChoice::from_setting(setting));
        let result = self.apply();
        if result.is_err() {
            self.choice = previous;
        }
        result
    }

    /// Returns true if the theme depends on the colors of the terminal.
    pub(super) fn follows_terminal(&self) -> bool {
        self.choice.follows_terminal()
    }

    /// Uses what the terminal reported about its colors.
    pub(super) fn set_colors(&mut self, change: impl FnOnce(&mut TerminalColors)) {
        let before = self.colors.clone();
        change(&mut self.colors);
        if self.colors != before && self.follows_terminal() {
            // A file that became invalid meanwhile leaves the old colors.
            let _ = self.apply();
        }
    }

    /// Reads the theme again, after its file changed.
    pub(super) fn apply(&mut self) -> Result<(), String> {
        let name = self.choice.name(self.colors.appearance()).to_owned();
        self.current = Rc::new(self.load(&name)?);
        Ok(())
    }

    /// Loads a theme by name.
    pub(super) fn load(&self, name: &str) -> Result<Theme, String> {
        if self.depth == ColorDepth::None {
            return Ok(Theme::plain());
        }
        if let Some(theme) = Theme::builtin(name, &self.colors, self.depth) {
            return Ok(theme);
        }
        let Some(path) = self.files.get(name) else {
            return Err(format!("there is no theme `{name}`; choose one in /settings"));
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Theme::from_json(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the file of the theme in use, to notice changes.
    pub(super) fn file(&self) -> Option<&Path> {
        self.files.get(self.choice.name(self.colors.appearance())).map(PathBuf::as_path)
    }
}

/// Finds theme files: those of a directory, then single files and directories. The first of a name
/// wins.
fn find(directory: &Path, more: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for path in std::iter::once(directory).chain(more.iter().map(PathBuf::as_path)) {
        let files: Vec<PathBuf> = match std::fs::read_dir(path) {
            Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
            Err(_) => vec![path.to_owned()],
        };
        for file in files {
            let is_theme = file.extension().is_some_and(|extension| extension == "json");
            if let Some(name) = file.file_stem().and_then(|name| name.to_str())
                && is_theme
            {
                found.entry(name.to_owned()).or_insert(file.clone());
            }
        }
    }
    found
}
