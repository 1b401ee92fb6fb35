//! The theme in use, and those that can be selected: built in, files of the user, or of extensions.
//!
//! The file of the theme in use is read again when it changes. It is looked at while the user
//! works, at most once per second, so that an idle screen stays asleep.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use pi_coding_agent::Environment;
use pi_coding_agent::extension::Theme as Offered;
use pi_config::{SettingsScope, SettingsStore};
use pi_tui::ColorDepth;
use pi_tui::theme::{Appearance, TerminalColors, Theme, ThemeChoice};

use super::ui::ScreenUi;
use crate::program::ScreenOptions;

/// The theme in use and its sources.
pub(super) struct Themes {
    choice: ThemeChoice,
    current: Rc<Theme>,
    colors: TerminalColors,
    depth: ColorDepth,
    /// Files of themes, by name.
    files: BTreeMap<String, PathBuf>,
    /// Files of themes that extensions offer, by name.
    added: BTreeMap<String, PathBuf>,
    /// The time of the last look at the file of the theme.
    looked: Option<Instant>,
    /// The time at which the file was changed, when it was read.
    modified: Option<SystemTime>,
    /// The generation of the theme that extensions have.
    published: Option<u64>,
}

/// Time between two looks at the file of the theme.
const PAUSE: Duration = Duration::from_secs(1);

impl Themes {
    /// Selects a theme by the value of the setting.
    pub(super) fn new(
        setting: &str,
        depth: ColorDepth,
        environment: &Environment,
        sources: &[PathBuf],
    ) -> (Self, Option<String>) {
        let colors = TerminalColors {
            colorfgbg: environment.variable("COLORFGBG").map(str::to_owned),
            ..TerminalColors::default()
        };
        let files = find(sources);
        let choice = ThemeChoice::from_setting(setting);
        let current = Rc::new(Theme::plain());
        let mut themes = Self {
            choice,
            current,
            colors,
            depth,
            files,
            added: BTreeMap::new(),
            looked: None,
            modified: None,
            published: None,
        };
        let problem = themes.apply().err();
        (themes, problem)
    }

    pub(super) fn current(&self) -> Rc<Theme> {
        Rc::clone(&self.current)
    }

    /// Returns the value of the setting for the theme in use.
    pub(super) fn setting(&self) -> String {
        self.choice.to_string()
    }

    /// Returns the names of all themes.
    pub(super) fn names(&self) -> Vec<String> {
        let builtin = pi_tui::theme::choice::BUILTIN.iter().map(|name| (*name).to_owned());
        let added = self.added.keys().filter(|name| !self.files.contains_key(*name));
        builtin.chain(self.files.keys().cloned()).chain(added.cloned()).collect()
    }

    /// Adds themes that extensions offer. Those of the user go first.
    pub(super) fn add(&mut self, sources: &[PathBuf]) {
        for (name, path) in find(sources) {
            self.added.entry(name).or_insert(path);
        }
        self.published = None;
    }

    /// Removes the themes of extensions. The colors in use stay.
    pub(super) fn forget_added(&mut self) {
        if !self.added.is_empty() {
            self.added.clear();
            self.published = None;
        }
    }

    fn path(&self, name: &str) -> Option<&PathBuf> {
        self.files.get(name).or_else(|| self.added.get(name))
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

    /// Reads the theme in use.
    fn apply(&mut self) -> Result<(), String> {
        let name = self.choice.name(self.colors.appearance()).to_owned();
        self.modified = self.file().and_then(modified);
        self.current = Rc::new(self.load(&name)?);
        Ok(())
    }

    /// Reads the theme again if its file changed. Returns the problem of a file that became
    /// invalid; the old colors stay.
    pub(super) fn refresh(&mut self, now: Instant) -> Option<String> {
        let is_early = self.looked.is_some_and(|looked| now < looked + PAUSE);
        let path = self.file().filter(|_| !is_early)?;
        let modified = modified(path);
        self.looked = Some(now);
        if modified.is_none() || modified == self.modified {
            return None;
        }
        self.apply().err()
    }

    /// Tells extensions about the themes, if the theme in use changed.
    pub(super) fn publish(&mut self, ui: &ScreenUi) {
        if self.published.replace(self.current.generation()) == Some(self.current.generation()) {
            return;
        }
        let current = self.offered();
        // A file that is invalid is reported when it is selected.
        let all = self.names().into_iter();
        let all = all.filter_map(|name| Some(self.offer(&name, &self.load(&name).ok()?))).collect();
        let mut shared = ui.shared();
        shared.theme = current;
        shared.theme_generation += 1;
        shared.themes = all;
    }

    /// Returns the theme in use, for extensions.
    pub(super) fn offered(&self) -> Offered {
        self.offer(self.choice.name(self.colors.appearance()), &self.current)
    }

    fn offer(&self, name: &str, theme: &Theme) -> Offered {
        let mut offered = Offered::default();
        offered.name = name.to_owned();
        offered.path = self.path(name).cloned();
        offered.is_light = theme.appearance() == Appearance::Light;
        offered.foreground = theme.foreground_sequences(self.depth);
        offered.background = theme.background_sequences(self.depth);
        offered
    }

    /// Loads a theme by name.
    fn load(&self, name: &str) -> Result<Theme, String> {
        if self.depth == ColorDepth::None {
            return Ok(Theme::plain());
        }
        if let Some(theme) = Theme::builtin(name, &self.colors, self.depth) {
            return Ok(theme);
        }
        let Some(path) = self.path(name) else {
            return Err(format!("there is no theme `{name}`; choose one in /settings"));
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Theme::from_json(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the file of the theme in use.
    fn file(&self) -> Option<&Path> {
        self.path(self.choice.name(self.colors.appearance())).map(PathBuf::as_path)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Returns the directory of the user's themes.
pub(super) fn directory(environment: &Environment) -> PathBuf {
    environment.agent_directory.join("themes")
}

/// Returns the files and directories with themes: those of the command line, of the user, of a
/// trusted project, and of packages.
pub(super) fn sources(
    settings: &SettingsStore,
    options: &ScreenOptions,
    environment: &Environment,
) -> Vec<PathBuf> {
    let expand = |paths: &[String], base: &Path| -> Vec<PathBuf> {
        paths.iter().map(|path| environment.expand(path, base)).collect()
    };
    let mut sources = expand(&options.themes, &environment.cwd);
    if options.no_theme_discovery {
        return sources;
    }
    sources.push(directory(environment));
    let themes = |scope| settings.scope(scope).screen.themes.unwrap_or_default();
    sources.extend(expand(&themes(SettingsScope::User), &environment.agent_directory));
    if settings.is_trusted() {
        let base = environment.project_directory();
        sources.push(base.join("themes"));
        sources.extend(expand(&themes(SettingsScope::Project), &base));
    }
    sources.extend(pi_config::resources::package_themes(environment, settings));
    sources
}

/// Finds theme files: single ones, and those of directories. The first of a name wins.
fn find(sources: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for path in sources {
        let files: Vec<PathBuf> = match std::fs::read_dir(path) {
            Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
            Err(_) => vec![path.clone()],
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
