//! The question whether a project is trusted.

use std::path::{Path, PathBuf};

use pi_tui::Style;
use pi_tui::input::Keymap;
use pi_tui::list::Item;

use super::exact::exact;
use super::question::Question;

/// A decision about a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Stores for this directory and those below it whether they are trusted.
    Store { directory: PathBuf, is_trusted: bool },
    /// Removes what is stored for this directory.
    Forget { directory: PathBuf },
    /// Applies to this run only.
    Once { is_trusted: bool },
}

impl Decision {
    /// Returns true if the project is used.
    fn permits(&self) -> bool {
        matches!(self, Self::Store { is_trusted: true, .. } | Self::Once { is_trusted: true })
    }
}

/// Returns the question before the project is used. `files` are what it brings.
pub(crate) fn before_start(
    directory: &Path,
    files: &[PathBuf],
    keymap: &Keymap,
) -> Question<Decision> {
    let title = format!("Trust project folder?\n{}", shown(directory));
    let files: Vec<String> = files.iter().map(|file| format!("  {}", shown(file))).collect();
    let files = files.join("\n");
    let message = format!(
        "\nIf you trust it, pi uses its settings and runs its extensions:\n{files}\n\
         Otherwise pi works here without them."
    );
    let store = |is_trusted| Decision::Store { directory: directory.to_owned(), is_trusted };
    let mut items = vec![Item::new(store(true), "Trust")];
    let mut words = vec!["trust"];
    if let Some(parent) = parent(directory) {
        items.push(parent);
        words.push("parent");
    }
    items.push(Item::new(Decision::Once { is_trusted: true }, "Trust (this session only)"));
    items.push(Item::new(store(false), "Do not trust"));
    let once = Decision::Once { is_trusted: false };
    items.push(Item::new(once, "Do not trust (this session only)"));
    words.extend(["once", "no", "no, once"]);
    let question = Question::new(&title, &message, items, keymap);
    question.permitting(Decision::permits).with_words(words)
}

/// Returns the question that shows the decision that applies and the stored one, and changes the
/// stored one. `is_trusted` is `None` if nothing here needs trust.
pub(crate) fn change(
    directory: &Path,
    is_trusted: Option<bool>,
    stored: Option<&(PathBuf, bool)>,
    keymap: &Keymap,
) -> Question<Decision> {
    let describe = |is_trusted| if is_trusted { "trusted" } else { "not trusted" };
    let stored_text = match stored {
        None => "none".to_owned(),
        Some((path, trusted)) if path == directory => describe(*trusted).to_owned(),
        Some((path, trusted)) => format!("{} (by {})", describe(*trusted), shown(path)),
    };
    let title = format!("Project trust\n{}", shown(directory));
    let message = format!(
        "\nStored decision: {stored_text}\nThis session: {}\n\n\
         Another decision applies when pi starts again.",
        is_trusted.map_or("nothing here needs trust", describe)
    );
    let store = |is_trusted| Decision::Store { directory: directory.to_owned(), is_trusted };
    let mut items = vec![Item::new(store(true), "Trust")];
    items.extend(parent(directory));
    items.push(Item::new(store(false), "Do not trust"));
    if let Some((path, _)) = stored {
        let forget = Decision::Forget { directory: path.clone() };
        items.push(Item::new(forget, "Remove the stored decision"));
    }
    Question::new(&title, &message, items, keymap).permitting(Decision::permits)
}

/// Returns the choice to trust the parent directory. That of everything is not offered.
fn parent(directory: &Path) -> Option<Item<Decision>> {
    let parent = directory.parent().filter(|parent| parent.parent().is_some())?;
    let decision = Decision::Store { directory: parent.to_owned(), is_trusted: true };
    Some(Item::new(decision, format!("Trust parent folder ({})", shown(parent))))
}

/// Returns a path that cannot disguise itself.
fn shown(path: &Path) -> String {
    exact(&path.to_string_lossy(), Style::PLAIN, Style::PLAIN).text()
}

#[cfg(test)]
mod tests {
    use super::super::super::panel::PanelEvent;
    use super::super::testing::{keymap, press, shown};
    use super::*;

    fn ask(directory: &str) -> Question<Decision> {
        let files = [PathBuf::from(".pi/settings.json"), PathBuf::from(".pi/extensions")];
        before_start(Path::new(directory), &files, &keymap())
    }

    #[test]
    fn the_question_shows_what_the_project_brings() {
        insta::assert_snapshot!("question", shown(&mut ask("/home/user/proj"), 70, 30));
    }

    #[test]
    fn keys_lead_to_decisions() {
        let store = |directory: &str, is_trusted| {
            Some(Decision::Store { directory: PathBuf::from(directory), is_trusted })
        };
        let cases = [
            ("enter", store("/home/user/proj", true)),
            ("down enter", store("/home/user", true)),
            ("down down enter", Some(Decision::Once { is_trusted: true })),
            ("up up enter", store("/home/user/proj", false)),
            ("\"k\" enter", Some(Decision::Once { is_trusted: false })),
            ("\"1\"", store("/home/user/proj", true)),
            ("\"4\"", store("/home/user/proj", false)),
            ("escape", None),
        ];
        for (keys, expected) in cases {
            let mut panel = ask("/home/user/proj");
            shown(&mut panel, 70, 30);
            match press(&mut panel, keys) {
                PanelEvent::Close(decision) => assert_eq!(decision, expected, "{keys}"),
                _ => panic!("{keys} closes the question"),
            }
        }
    }

    #[test]
    fn the_question_is_shown_at_every_size() {
        for (width, rows) in [(40, 10), (40, 12), (60, 10), (80, 12), (80, 15), (80, 24)] {
            let mut panel = ask("/home/user/proj");
            let mut all = String::new();
            for _ in 0..20 {
                let text = shown(&mut panel, width, rows);
                assert!(text.lines().count() + 2 <= rows, "{width}x{rows}\n{text}");
                all.push_str(&text);
                press(&mut panel, "pageDown");
            }
            for part in ["Trust project folder?", ".pi/extensions"] {
                assert!(all.contains(part), "{width}x{rows} {part}\n{all}");
            }
            let has_answers = all.contains("→ Trust") || all.contains("[1:trust] 2:parent");
            assert!(has_answers, "{width}x{rows}\n{all}");
        }
    }

    /// The path and the first file are visible at once, and nothing is trusted before the last file
    /// was. The key of an answer shows the next page until then.
    #[test]
    fn nothing_is_trusted_before_everything_was_shown() {
        let files: Vec<PathBuf> = (0..30).map(|at| PathBuf::from(format!("file-{at}."))).collect();
        for (width, rows) in [(40, 10), (40, 15), (60, 12), (80, 12), (80, 24), (120, 30)] {
            for keys in ["enter", "\"1\"", "\"2\"", "\"3\""] {
                let directory = Path::new("/home/user/proj");
                let mut panel = before_start(directory, &files, &keymap());
                assert!(matches!(press(&mut panel, keys), PanelEvent::Changed), "not shown yet");
                let mut all = String::new();
                for page in 0.. {
                    assert!(page < 40, "{width}x{rows} {keys}\n{all}");
                    let text = shown(&mut panel, width, rows);
                    assert!(page > 0 || text.contains("/home/user/proj"), "{text}");
                    all.push_str(&text);
                    if let PanelEvent::Close(decision) = press(&mut panel, keys) {
                        assert!(decision.is_some_and(|it| it.permits()));
                        break;
                    }
                    if page == 0 {
                        // One can always refuse.
                        let mut panel = before_start(directory, &files, &keymap());
                        shown(&mut panel, width, rows);
                        assert!(matches!(press(&mut panel, "\"4\""), PanelEvent::Close(Some(_))));
                    }
                }
                for file in &files {
                    let file = file.display().to_string();
                    assert!(all.contains(&file), "{width}x{rows} {keys} {file}\n{all}");
                }
            }
        }
    }

    #[test]
    fn the_root_is_not_offered() {
        let text = shown(&mut ask("/proj"), 70, 30);
        assert!(!text.contains("parent"), "{text}");
    }

    #[test]
    fn a_stored_decision_is_shown_and_can_be_removed() {
        let directory = Path::new("/home/user/proj");
        let stored = (PathBuf::from("/home/user"), true);
        let mut panel = change(directory, None, None, &keymap());
        assert!(shown(&mut panel, 70, 30).contains("This session: nothing here needs trust"));
        let mut panel = change(directory, Some(false), Some(&stored), &keymap());
        insta::assert_snapshot!("change", shown(&mut panel, 70, 30));
        let forget = Decision::Forget { directory: PathBuf::from("/home/user") };
        match press(&mut panel, "up enter") {
            PanelEvent::Close(decision) => assert_eq!(decision, Some(forget)),
            _ => panic!("the question closes"),
        }
    }
}
