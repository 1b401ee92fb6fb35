//! The selector of resources: switches extensions, skills, templates and themes of packages on and
//! off. `selection` is its state, this file its keys and lines.

mod selection;
#[cfg(test)]
mod tests;

use pi_coding_agent::Environment;
use pi_config::resources::PackageLocation;
use pi_config::{SettingsScope, SettingsStore};
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{FilterList, ListEvent};
use pi_tui::{Line, Style, Token, View};

use super::super::panel::{Panel, PanelEvent};
use super::frame;
use selection::Resource;

const ROWS: usize = 14;

/// The panel. It changes the settings itself, so that a decision is stored at once.
pub(crate) struct ResourcesPanel {
    environment: Environment,
    settings: SettingsStore,
    scope: SettingsScope,
    list: FilterList<Resource>,
    /// A decision that could not be stored.
    problem: Option<String>,
    is_changed: bool,
}

/// The answer of a panel that was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed {
    /// The settings were changed.
    pub(crate) is_changed: bool,
}

impl ResourcesPanel {
    pub(crate) fn new(
        environment: Environment,
        settings: SettingsStore,
        scope: SettingsScope,
    ) -> Self {
        let text = |one: &Resource| format!("{} {} {}", one.path, one.kind, one.package);
        let mut panel = Self {
            environment,
            settings,
            scope,
            // The best match is not first: packages stay together.
            list: FilterList::new(Vec::new(), ROWS, text).keeping_order(),
            problem: None,
            is_changed: false,
        };
        panel.load();
        panel
    }

    fn load(&mut self) {
        let resources = selection::resources(&self.environment, &self.settings, self.scope);
        self.list.set_items(resources);
    }

    /// Stores the next decision about the selected resource.
    fn toggle(&mut self) {
        let Some(resource) = self.list.selected().cloned() else { return };
        let decision = resource.next();
        let source = self.entry_source(&resource);
        let environment = self.environment.clone();
        let base = match self.scope {
            SettingsScope::User => environment.agent_directory.clone(),
            SettingsScope::Project => environment.project_directory(),
        };
        let wanted = selection::identity(&source, &base, &environment);
        let is_same = move |other: &str| {
            wanted.is_some() && selection::identity(other, &base, &environment) == wanted
        };
        let changed = self.settings.update(self.scope, |changes| {
            changes.edit(&["packages"], move |list| {
                selection::decided(list, &source, &is_same, &resource, decision)
            });
        });
        self.problem = changed.err().map(|error| error.to_string());
        self.is_changed = true;
        self.load();
    }

    /// Returns the source in the settings that are changed: a path of the user's settings is
    /// relative to another directory.
    fn entry_source(&self, resource: &Resource) -> String {
        let location = PackageLocation::parse(&resource.package);
        match location {
            Ok(location @ PackageLocation::Path(_)) if resource.is_inherited => {
                let base = &self.environment.agent_directory;
                location.directory(base, &self.environment).to_string_lossy().into_owned()
            }
            _ => resource.package.clone(),
        }
    }

    fn switch_scope(&mut self) {
        match self.scope {
            SettingsScope::Project => self.scope = SettingsScope::User,
            SettingsScope::User if self.settings.is_trusted() => {
                self.scope = SettingsScope::Project;
            }
            SettingsScope::User => {
                self.problem = Some("the project is not trusted".to_owned());
                return;
            }
        }
        self.problem = None;
        self.load();
    }

    fn content(&mut self, view: View<'_>) -> Vec<Line> {
        self.list.set_rows(frame::list_rows(ROWS, view));
        let theme = view.theme;
        let muted = theme.fg(Token::Muted);
        let (title, file, keys) = match self.scope {
            SettingsScope::User => {
                ("Global Resources", "settings.json of the agent directory", "space toggle")
            }
            SettingsScope::Project => (
                "Project Local Resources",
                ".pi/settings.json; resources of your own packages are inherited",
                "space cycle inherit/+/-",
            ),
        };
        let mut lines = vec![Line::new(), frame::title(title, view)];
        lines.extend(frame::sentence(file, muted, view));
        lines.extend([Line::new(), self.list.search_line(view), Line::new()]);
        if self.list.is_empty() {
            let text = match self.list.items().is_empty() {
                true => "  No packages with resources are installed",
                false => "  No resources match",
            };
            lines.push(Line::styled(text, muted));
        }
        let mut previous: Option<(&str, &str)> = None;
        for (resource, is_selected) in self.list.visible() {
            let (package, kind) = (resource.package.as_str(), resource.kind);
            if previous.is_none_or(|(before, _)| before != package) {
                let inherited = if resource.is_inherited { " · inherited" } else { "" };
                let text = format!("  {package}{inherited}");
                lines.push(Line::styled(text, theme.fg(Token::Accent)));
            }
            if previous != Some((package, kind)) {
                let mut title = kind.to_owned();
                title.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
                lines.push(Line::styled(format!("    {title}"), muted));
            }
            previous = Some((package, kind));
            lines.push(row_line(resource, is_selected, view));
        }
        lines.extend(self.list.position(theme));
        if let Some(problem) = &self.problem {
            lines.push(Line::new());
            let text = format!("  not stored: {problem}");
            lines.extend(frame::sentence(&text, theme.fg(Token::Error), view));
        }
        lines.push(Line::new());
        let hints = ["tab switch mode", keys, "esc close"].map(str::to_owned);
        lines.extend(frame::hints(&hints, view));
        lines
    }
}

fn row_line(resource: &Resource, is_selected: bool, view: View<'_>) -> Line {
    let theme = view.theme;
    let style = if is_selected { theme.fg(Token::Accent) } else { Style::PLAIN };
    let mut line = Line::styled(if is_selected { "→     " } else { "      " }, style);
    let (mark, remark) = match (resource.decision, resource.is_loaded) {
        (Some(true), _) => ("[+]", "loaded in this project"),
        (Some(false), _) => ("[-]", "not loaded in this project"),
        (None, true) => ("[x]", ""),
        (None, false) => ("[ ]", ""),
    };
    let is_on = resource.decision.unwrap_or(resource.is_loaded);
    line.push(mark, theme.fg(if is_on { Token::Success } else { Token::Dim }));
    line.push(format!(" {}", resource.name()), style);
    if !remark.is_empty() {
        line.push(format!("  {remark}"), theme.fg(Token::Muted));
    }
    line
}

impl Panel<Closed> for ResourcesPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        frame::bordered(self.content(view), view)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Closed> {
        if let Input::Key(key) = input {
            // A search may contain spaces, but does not begin with one.
            let is_space = key.is("space") && self.list.search().is_empty();
            if is_space || keymap.is(key, "tui.select.confirm") {
                self.toggle();
                return PanelEvent::Changed;
            }
            if keymap.is(key, "tui.input.tab") {
                self.switch_scope();
                return PanelEvent::Changed;
            }
        }
        match self.list.handle(input, keymap) {
            ListEvent::Cancelled => PanelEvent::Close(Some(Closed { is_changed: self.is_changed })),
            ListEvent::Ignored => PanelEvent::Ignored,
            _ => PanelEvent::Changed,
        }
    }
}
