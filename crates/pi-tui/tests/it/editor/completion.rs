//! Completion: words at the caret, what is applied, and when.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use pi_tui::completion::command::{self, Command};
use pi_tui::completion::context::{self, Context, Token};
use pi_tui::completion::path;
use pi_tui::{Completer, Completion, CompletionKind, CompletionRequest, Completions, EditorEvent};

use super::Harness;

/// A completer as a program has it: commands, arguments of one command, files, paths.
#[derive(Default)]
struct Program {
    commands: Vec<&'static str>,
    /// Directories end with a slash.
    files: Rc<RefCell<Vec<&'static str>>>,
    is_slow: bool,
}

impl Completer for Program {
    fn complete(&mut self, request: &CompletionRequest<'_>) -> Option<Completions> {
        let (kind, start, items) = match context::of(request) {
            Context::Command { name } => {
                let commands = self
                    .commands
                    .iter()
                    .map(|name| Command { name: (*name).to_owned(), ..Command::default() });
                return Some(command::completions(name, &commands.collect::<Vec<_>>()));
            }
            Context::Argument { command: "thinking", text, start } => {
                let levels = ["off", "low", "high"].iter().filter(|level| level.starts_with(text));
                let items = levels.map(|level| Completion::new(*level, *level)).collect();
                (CompletionKind::Argument, start, items)
            }
            Context::Argument { .. } => return None,
            Context::File(token) => (CompletionKind::File, token.start, self.paths(&token)),
            Context::Word(token) if request.is_forced => {
                (CompletionKind::Path, token.start, self.paths(&token))
            }
            Context::Word(_) => return None,
        };
        let is_complete = !self.is_slow;
        Some(Completions { kind, replaced: start..request.column, items, is_complete })
    }
}

impl Program {
    fn paths(&self, token: &Token<'_>) -> Vec<Completion> {
        let files = self.files.borrow();
        let found = files.iter().filter(|file| file.starts_with(token.text));
        found
            .map(|file| match file.strip_suffix('/') {
                Some(directory) => path::completion(token, directory, directory, true),
                None => path::completion(token, file, file, false),
            })
            .collect()
    }
}

fn program() -> Harness {
    Harness::with(Program {
        commands: vec!["settings", "trust-tree", "tree", "thinking", "new", "model"],
        files: Rc::new(RefCell::new(vec![
            "a.txt",
            "src/",
            "with space.txt",
            "my dir/",
            "docs/guide.md",
            "docs/gun.md",
        ])),
        is_slow: false,
    })
}

#[test]
fn words_at_the_caret() {
    // Text before the caret; start, text, file, quoted.
    let table = [
        ("", 0, "", false, false),
        ("ab", 0, "ab", false, false),
        ("see src/li", 4, "src/li", false, false),
        ("see @src/li", 4, "src/li", true, false),
        ("a=b", 2, "b", false, false),
        ("x='y", 3, "y", false, false),
        ("(@x", 1, "x", true, false),
        ("[{<`@x", 4, "x", true, false),
        ("mail@x", 0, "mail@x", false, false),
        ("@\"with sp", 0, "with sp", true, true),
        ("a \"with sp", 2, "with sp", false, true),
        ("a @\"x\" @y", 7, "y", true, false),
        ("say \"hi\" sr", 9, "sr", false, false),
        ("見。@本", 6, "本", true, false),
        ("5\" x", 3, "x", false, false),
    ];
    for (before, start, text, is_file, is_quoted) in table {
        let expected = Token { start, text, is_file, is_quoted };
        assert_eq!(context::token(before), expected, "{before:?}");
    }
}

#[test]
fn commands_stand_at_the_start_of_the_first_line() {
    let context = |text: &str, line: usize| {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let column = lines[line].len();
        let request = CompletionRequest { lines: &lines, line, column, is_forced: false };
        match context::of(&request) {
            Context::Command { name } => format!("command {name}"),
            Context::Argument { command, text, start } => format!("{command} {text} {start}"),
            Context::File(token) => format!("file {}", token.text),
            Context::Word(token) => format!("word {}", token.text),
        }
    };
    assert_eq!(context("/", 0), "command ");
    assert_eq!(context("/mo", 0), "command mo");
    assert_eq!(context("/model ", 0), "model  7");
    assert_eq!(context("/model a b", 0), "model a b 7");
    assert_eq!(context("/review @sr", 0), "file sr");
    assert_eq!(context(" /mo", 0), "word /mo");
    assert_eq!(context("a\n/mo", 1), "word /mo");
}

#[test]
fn commands_by_name() {
    let commands = [("model", "<id>"), ("scoped-models", ""), ("skill:pdf", ""), ("import", "")];
    let commands: Vec<Command> = commands
        .into_iter()
        .map(|(name, hint)| Command {
            name: name.to_owned(),
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
            description: "Does it".to_owned(),
        })
        .collect();
    let names = |typed: &str| -> Vec<String> {
        let completions = command::completions(typed, &commands);
        completions.items.into_iter().map(|item| item.label).collect()
    };
    assert_eq!(names(""), ["model", "scoped-models", "skill:pdf", "import"]);
    assert_eq!(names("mo"), ["model", "scoped-models", "import"]);
    assert_eq!(names("pdf"), ["skill:pdf"]);
    assert_eq!(names("skill:p"), ["skill:pdf"]);
    assert_eq!(names("x"), Vec::<String>::new());
    let model = &command::completions("model", &commands).items[0];
    assert_eq!(model.description.as_deref(), Some("<id> — Does it"));
    assert_eq!(model.insert, "/model ");
}

#[test]
fn enter_on_a_command_completes_and_submits() {
    // Typed in one read: nothing is drawn and no time passes between the keys.
    let table = [
        ("/tree", "/tree"),
        ("/tre", "/tree"),
        ("/trt", "/trust-tree"),
        ("/thi", "/thinking"),
        ("/thinking high", "/thinking high"),
        ("/unknown", "/unknown"),
        ("/model fake-1", "/model fake-1"),
        ("/usr/bin is a path", "/usr/bin is a path"),
        ("text /tree", "text /tree"),
        ("look at @a.txt", "look at @a.txt"),
    ];
    for (text, submitted) in table {
        let mut harness = program();
        harness.typed(text);
        assert_eq!(harness.press("enter"), EditorEvent::Submit(submitted.to_owned()), "{text}");
    }
}

#[test]
fn the_selected_command_wins_over_an_exact_one() {
    let mut harness = program();
    harness.typed("/tree").press("up");
    assert_eq!(harness.press("enter"), EditorEvent::Submit("/trust-tree".to_owned()));
    // Typing on is another choice.
    harness.typed("/tre").press("down");
    harness.typed("e");
    assert_eq!(harness.press("enter"), EditorEvent::Submit("/tree".to_owned()));
}

#[test]
fn enter_on_anything_else_only_applies() {
    let table = [
        ("@a", "enter", "@a.txt |"),
        ("@with", "enter", "@\"with space.txt\" |"),
        ("see @sr", "enter", "see @src/|"),
        ("@my", "enter", "@\"my dir/|\""),
        ("@\"wi", "enter", "@\"with space.txt\" |"),
        ("/thinking ", "enter", "/thinking off|"),
        ("/thinking hi", "tab", "/thinking high|"),
        ("/mo", "tab", "/model |"),
        ("/thi", "tab enter", "/thinking off|"),
        ("see sr", "tab", "see src/|"),
        ("see wi", "tab", "see \"with space.txt\"|"),
        ("see docs/gu", "tab tab", "see docs/guide.md|"),
        ("see docs/gu", "tab down tab", "see docs/gun.md|"),
        ("see docs/gu", "tab escape enter", "|"),
        ("nothing", "tab", "nothing|"),
        ("@a x", "left left tab", "@a.txt |x"),
    ];
    for (text, keys, expected) in table {
        let mut harness = program();
        harness.typed(text).keys(keys);
        assert_eq!(harness.state(), expected, "{text:?}, then {keys:?}");
    }
}

#[test]
fn a_closing_quote_is_not_doubled() {
    let mut harness = program();
    harness.typed("@\"wi\" x").keys("left left left tab");
    assert_eq!(harness.state(), "@\"with space.txt\" |x");
}

#[test]
fn the_menu_follows_the_text() {
    let mut harness = program();
    let steps = [
        ("/", true),
        ("t", true),
        ("escape", false),
        ("r", true),
        ("z", false),
        ("backspace", true),
        ("ctrl+u", false),
    ];
    for (index, (key, is_open)) in steps.into_iter().enumerate() {
        harness.press(key);
        assert_eq!(harness.editor.is_menu_open(), is_open, "step {index}");
    }
    // A space opens the menu of arguments only if that of commands was open.
    harness.typed("/thinking ");
    assert!(harness.editor.is_menu_open());
    harness.keys("ctrl+u");
    harness.typed("/thinking").press("escape");
    harness.typed(" ");
    assert!(!harness.editor.is_menu_open());
    harness.typed("h");
    assert!(harness.editor.is_menu_open());
    // Paths open no menu by themselves, but Tab's menu stays open.
    harness.keys("ctrl+u");
    harness.typed("docs/");
    assert!(!harness.editor.is_menu_open());
    harness.press("tab");
    harness.typed("g");
    assert!(harness.editor.is_menu_open());
    harness.typed("x");
    assert!(!harness.editor.is_menu_open());
}

#[test]
fn nothing_is_applied_to_another_text() {
    let mut harness = program();
    harness.typed("/tr");
    assert!(harness.editor.is_menu_open());
    // The program changes the text while the menu is open.
    harness.editor.set_text("other");
    assert_eq!(harness.press("enter"), EditorEvent::Submit("other".to_owned()));
    harness.typed("@a");
    harness.paste("bc");
    assert_eq!(harness.press("enter"), EditorEvent::Submit("@abc".to_owned()));
    harness.typed("/tr").keys("home");
    assert_eq!(harness.press("tab"), EditorEvent::Handled);
    assert_eq!(harness.editor.text(), "/tr");
}

#[test]
fn the_list_that_enter_applies_is_the_present_one() {
    let files = Rc::new(RefCell::new(vec!["abc"]));
    let mut harness = Harness::with(Program { files: Rc::clone(&files), ..Program::default() });
    harness.typed("@a");
    // The file went away after the menu opened, and another one came.
    *files.borrow_mut() = vec!["axe"];
    harness.press("enter");
    assert_eq!(harness.state(), "@axe |");
    harness.typed("@a");
    files.borrow_mut().clear();
    assert_eq!(harness.press("enter"), EditorEvent::Submit("@axe @a".to_owned()));
}

#[test]
fn slow_sources_fill_the_menu_later() {
    let files = Rc::new(RefCell::new(vec![]));
    let program = Program { files: Rc::clone(&files), is_slow: true, ..Program::default() };
    let mut harness = Harness::with(program);
    harness.typed("@a");
    assert!(!harness.editor.is_menu_open());
    files.borrow_mut().extend(["ab", "ac"]);
    assert!(harness.editor.refresh_completion(&mut *harness.completer));
    assert!(harness.editor.is_menu_open());
    // What the user selected stays selected when more arrives.
    harness.press("down");
    files.borrow_mut().insert(0, "aa");
    harness.editor.refresh_completion(&mut *harness.completer);
    harness.press("enter");
    assert_eq!(harness.state(), "@ac |");
    // Nothing opens after the user left the word.
    assert!(!harness.editor.refresh_completion(&mut *harness.completer));
    harness.typed("@x").press("ctrl+u");
    files.borrow_mut().push("xx");
    assert!(!harness.editor.refresh_completion(&mut *harness.completer));
}

#[test]
fn completion_is_one_edit() {
    let mut harness = program();
    harness.typed("@wi").keys("tab ctrl+-");
    assert_eq!(harness.state(), "@wi|");
    assert!(harness.editor.is_menu_open(), "the menu follows the text");
}

#[test]
fn keys_that_belong_to_the_menu() {
    let mut harness = program();
    let keys = ["escape", "up", "down", "tab", "enter", "pageUp", "pageDown", "ctrl+c", "x"];
    let wanted = |harness: &Harness| -> Vec<&str> {
        let wants = |key: &str| harness.editor.wants(&super::key_named(key), &harness.keymap);
        keys.into_iter().filter(|key| wants(key)).collect()
    };
    assert_eq!(wanted(&harness), Vec::<&str>::new());
    harness.typed("/");
    assert_eq!(wanted(&harness), keys[..7]);
    assert_eq!(harness.press("escape"), EditorEvent::Handled);
    assert_eq!(harness.press("escape"), EditorEvent::Ignored);
}

#[test]
fn hostile_ranges_are_refused() {
    for replaced in [0..100, 2..3, Range { start: 5, end: 1 }, 90..100] {
        let mut harness = Harness::with(super::Fixed(Completions {
            kind: CompletionKind::Path,
            replaced: replaced.clone(),
            items: vec![Completion::new("x", "x")],
            is_complete: true,
        }));
        harness.typed("日本").keys("left tab");
        assert!(harness.editor.text().contains('x') || harness.editor.text() == "日本");
    }
}
