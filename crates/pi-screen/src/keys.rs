//! The keys of the application, by default.

use pi_coding_agent::Environment;
use pi_tui::input::Keymap;
use pi_tui::input::defaults::Platform;
use pi_tui::input::keymap::Binding;

/// Returns the keys: the defaults, changed by the user's `keybindings.json`. Problems of the file
/// are returned as texts.
pub(super) fn load(environment: &Environment) -> (Keymap, Vec<String>) {
    let is_wsl = environment.variable("WSL_DISTRO_NAME").is_some();
    let platform = match (cfg!(windows), is_wsl) {
        (true, _) => Platform::Windows,
        (_, true) => Platform::Wsl,
        _ => Platform::Unix,
    };
    let tables: &[&[Binding]] = match platform {
        Platform::Unix => &[DEFAULTS],
        Platform::Windows | Platform::Wsl => &[DEFAULTS, WINDOWS_TERMINAL],
    };
    let mut keymap = Keymap::with_defaults(platform, tables);
    keymap.rename(OLD_NAMES);
    let path = environment.agent_directory.join("keybindings.json");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (keymap, Vec::new()),
        Err(error) => return (keymap, vec![format!("{}: {error}", path.display())]),
    };
    let problems = match serde_json::from_str(&text) {
        Ok(json) => keymap.apply(&json).iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    };
    let named = |problem: String| format!("{}: {problem}", path.display());
    (keymap, problems.into_iter().map(named).collect())
}

/// The default keys. Ids and keys are those of the TypeScript pi, so that its keybindings files work.
pub(super) const DEFAULTS: &[Binding] = &[
    ("app.interrupt", &["escape"]),
    ("app.clear", &["ctrl+c"]),
    ("app.exit", &["ctrl+d"]),
    ("app.suspend", if cfg!(windows) { &[] } else { &["ctrl+z"] }),
    ("app.editor.external", &["ctrl+g"]),
    ("app.clipboard.pasteImage", &["ctrl+v"]),
    ("app.thinking.cycle", &["shift+tab"]),
    ("app.thinking.save", &["ctrl+s"]),
    ("app.thinking.toggle", &["ctrl+t"]),
    ("app.model.select", &["ctrl+l"]),
    ("app.model.cycleForward", &["ctrl+p"]),
    ("app.model.cycleBackward", &["shift+ctrl+p"]),
    ("app.tools.expand", &["ctrl+o"]),
    ("app.message.copy", &["ctrl+x"]),
    ("app.message.followUp", &["alt+enter", "ctrl+q"]),
    ("app.message.dequeue", &["alt+up", "alt+q"]),
    ("app.history.search", &["ctrl+r"]),
    ("app.session.new", &[]),
    ("app.session.tree", &[]),
    ("app.session.fork", &[]),
    ("app.session.resume", &[]),
    ("app.session.togglePath", &["ctrl+p"]),
    ("app.session.toggleSort", &["ctrl+s"]),
    ("app.session.toggleNamedFilter", &["ctrl+n"]),
    ("app.session.rename", &["ctrl+r"]),
    ("app.session.delete", &["ctrl+d"]),
    ("app.session.deleteNoninvasive", &["ctrl+backspace"]),
    (
        "app.tree.foldOrUp",
        if cfg!(target_os = "macos") {
            &["alt+left", "ctrl+left"]
        } else {
            &["ctrl+left", "alt+left"]
        },
    ),
    (
        "app.tree.unfoldOrDown",
        if cfg!(target_os = "macos") {
            &["alt+right", "ctrl+right"]
        } else {
            &["ctrl+right", "alt+right"]
        },
    ),
    ("app.tree.editLabel", &["shift+l"]),
    ("app.tree.toggleLabelTimestamp", &["shift+t"]),
    ("app.tree.filter.default", &["ctrl+d"]),
    ("app.tree.filter.noTools", &["ctrl+t"]),
    ("app.tree.filter.userOnly", &["ctrl+u"]),
    ("app.tree.filter.labeledOnly", &["ctrl+l"]),
    ("app.tree.filter.all", &["ctrl+a"]),
    ("app.tree.filter.cycleForward", &["ctrl+o"]),
    ("app.tree.filter.cycleBackward", &["shift+ctrl+o"]),
    ("app.models.save", &["ctrl+s"]),
    ("app.models.enableAll", &["ctrl+a"]),
    ("app.models.clearAll", &["ctrl+x"]),
    ("app.models.toggleProvider", &["ctrl+p"]),
    ("app.models.reorderUp", &["alt+up"]),
    ("app.models.reorderDown", &["alt+down"]),
];

/// Keys that Windows terminals keep for themselves have others there.
const WINDOWS_TERMINAL: &[Binding] =
    &[("app.clipboard.pasteImage", &["alt+v"]), ("app.model.cycleBackward", &["alt+p"])];

/// Names of actions in older keybindings files.
const OLD_NAMES: &[(&str, &str)] = &[
    ("interrupt", "app.interrupt"),
    ("clear", "app.clear"),
    ("exit", "app.exit"),
    ("suspend", "app.suspend"),
    ("cycleThinkingLevel", "app.thinking.cycle"),
    ("toggleThinking", "app.thinking.toggle"),
    ("cycleModelForward", "app.model.cycleForward"),
    ("cycleModelBackward", "app.model.cycleBackward"),
    ("selectModel", "app.model.select"),
    ("expandTools", "app.tools.expand"),
    ("externalEditor", "app.editor.external"),
    ("pasteImage", "app.clipboard.pasteImage"),
    ("followUp", "app.message.followUp"),
    ("dequeue", "app.message.dequeue"),
    ("newSession", "app.session.new"),
    ("tree", "app.session.tree"),
    ("fork", "app.session.fork"),
    ("resume", "app.session.resume"),
    ("toggleSessionNamedFilter", "app.session.toggleNamedFilter"),
];
