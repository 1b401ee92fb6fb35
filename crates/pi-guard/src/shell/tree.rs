//! The walk from the syntax tree to commands.
//!
//! The grammar differs from bash. The walk reports places where the two may disagree: tokens that
//! the grammar skips, substitutions that it reads as text, kinds of nodes that are not listed.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::nodes::{LINES, STRUCTURE, WHOLES, WORDS};
use super::uncertainty::Uncertainty;
use super::word::{self, slice};
use super::{Analysis, Assignment, Command, MAX_COMMANDS, MAX_DEPTH, Redirect, RedirectAccess};
use super::{builtins, launch};
use crate::programs;
use crate::word::Word;

/// The maximum number of progress reports of the parser, one about every hundred steps. Only a
/// script that is designed to be slow needs more.
const MAX_PROGRESS: usize = 20_000;

thread_local! {
    // A new parser costs more than parsing a short script.
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

pub(super) fn read(script: &str, analysis: &mut Analysis, through: &[String]) {
    let Some(tree) = parse(script) else { return analysis.note(Uncertainty::TooMuch) };
    let root = tree.root_node();
    if root.has_error() {
        analysis.note(Uncertainty::Syntax);
    }
    let mut walk = Walk { script, analysis, through, reached: 0 };
    walk.visit(root, 0);
    walk.gap(script.len());
}

fn parse(script: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|kept| {
        if kept.is_none() {
            let mut parser = Parser::new();
            parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *kept = Some(parser);
        }
        let parser = kept.as_mut()?;
        let mut steps = 0;
        let mut progress = |_: &tree_sitter::ParseState| {
            steps += 1;
            if steps > MAX_PROGRESS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        // The C code of the grammar looks characters up in tables that end with ASCII, and crashes
        // beyond. Other characters have no meaning to the shell, so each is replaced.
        let plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
        let bytes: Vec<u8> =
            script.bytes().map(|byte| if plain(byte) { byte } else { b'%' }).collect();
        let tree = parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        );
        parser.reset();
        tree
    })
}

struct Walk<'a> {
    script: &'a str,
    analysis: &'a mut Analysis,
    through: &'a [String],
    /// The end of the last token.
    reached: usize,
}

impl Walk<'_> {
    fn visit(&mut self, node: Node<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            return self.analysis.note(Uncertainty::TooDeep);
        }
        self.evaluated(node);
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => {
                let command = self.command(node);
                self.push(command);
            }
            // Its value is evaluated.
            "variable_assignment" if has_parent(node, &["c_style_for_statement"]) => {}
            "variable_assignment" if !has_parent(node, &["command", "declaration_command"]) => {
                let assignments = vec![self.assignment(node)];
                self.push(Command { assignments, ..Command::default() });
            }
            // `$(<x)` reads x without a command.
            "file_redirect" if has_parent(node, &["command_substitution"]) => {
                let mut command = Command::default();
                self.redirect(node, &mut command);
                self.push(command);
            }
            "redirected_statement" if !body_is_command(node) => {
                let mut command = Command::default();
                self.redirects(node, &mut command);
                self.push(command);
            }
            "function_definition" => {
                let name = node.child_by_field_name("name").map(|name| slice(name, self.script));
                let name = name.unwrap_or_default().to_owned();
                if programs::find(&name).is_known() {
                    self.analysis.note(Uncertainty::Renames(name.clone()));
                }
                self.analysis.functions.push(name);
            }
            "variable_assignment" | "variable_assignments" => {}
            "ERROR" => self.analysis.note(Uncertainty::Syntax),
            // After `==` the grammar reads the rest of the line as a pattern: `ls ==; cat x`.
            "regex" if has_parent(node, &["command"]) => self.analysis.note(Uncertainty::Syntax),
            kind if node.is_named() && !STRUCTURE.contains(&kind) => {
                self.analysis.note(Uncertainty::Construct(kind.replace('_', " ")));
            }
            _ => {}
        }
        if node.child_count() == 0 {
            self.token(node);
        }
        let body = node.kind() == "heredoc_body" && node.child_count() > 0;
        if body {
            self.gap(node.start_byte());
            self.reached = self.reached.max(node.start_byte());
        }
        let mut cursor = node.walk();
        let mut word_end = None;
        let mut end = node.start_byte();
        for child in node.children(&mut cursor) {
            if body {
                self.text(child.start_byte());
            }
            let is_word = WORDS.contains(&child.kind());
            if is_word && word_end == Some(child.start_byte()) && !WHOLES.contains(&node.kind()) {
                self.analysis.note(Uncertainty::Syntax);
            }
            word_end = is_word.then(|| child.end_byte());
            // A newline that the grammar reads as a space ends the command in the shell.
            let space = self.script.get(end..child.start_byte()).unwrap_or_default();
            if LINES.contains(&node.kind()) && space.replace("\\\n", "").contains('\n') {
                self.analysis.note(Uncertainty::Syntax);
            }
            end = child.end_byte();
            self.visit(child, depth + 1);
        }
        if body {
            self.text(node.end_byte());
        }
    }

    /// Checks the text of a here-document, which has no token before the first expansion.
    fn text(&mut self, until: usize) {
        let text = self.script.get(self.reached..until).unwrap_or_default();
        if text.contains(['$', '`']) {
            self.analysis.note(Uncertainty::Hidden);
        }
        self.reached = self.reached.max(until);
    }

    /// Checks text that the shell evaluates a second time.
    fn evaluated(&mut self, node: Node<'_>) {
        let text = slice(node, self.script);
        let inside = match node.kind() {
            "arithmetic_expansion" => text,
            "compound_statement" | "test_command" if text.starts_with("((") => text,
            "test_command" => return builtins::condition(text, self.analysis),
            // The body is not arithmetic.
            "c_style_for_statement" => {
                let body = node
                    .child_by_field_name("body")
                    .map_or(text.len(), |body| body.start_byte() - node.start_byte());
                let header = text[..body].trim_start_matches("for");
                header.rfind("))").map_or(header, |end| &header[..end])
            }
            "subscript" => {
                let index = text.split_once('[').and_then(|(_, index)| index.strip_suffix(']'));
                match index {
                    Some("@" | "*") => return,
                    index => index.unwrap_or("\\"),
                }
            }
            // `a=([index]=value)`
            "array" => {
                let mut cursor = node.walk();
                for element in node.named_children(&mut cursor) {
                    let element = slice(element, self.script).strip_prefix('[');
                    let index = element.and_then(|e| e.split_once("]=")).map(|(index, _)| index);
                    if index.is_some_and(|index| !builtins::evaluate(index, self.analysis)) {
                        self.analysis.note(Uncertainty::Hidden);
                    }
                }
                return;
            }
            "expansion" => return builtins::expansion(text, self.analysis),
            "for_statement" => return self.for_variable(node),
            // Between backquotes, the shell removes backslashes before it reads the script.
            "command_substitution" if text.starts_with('`') && text.contains('\\') => "\\",
            _ => return,
        };
        if !builtins::evaluate(inside, self.analysis) {
            self.analysis.note(Uncertainty::Hidden);
        }
    }

    /// Notes the variable of a `for` or `select` and its values.
    fn for_variable(&mut self, node: Node<'_>) {
        let Some(name) = node.child_by_field_name("variable") else { return };
        let name = slice(name, self.script);
        builtins::check_variable(name, self.analysis);
        let mut cursor = node.walk();
        let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
        if values.is_empty() {
            self.analysis.evaluation.fill(name);
        }
        for value in values {
            let word = word::read(value, self.script);
            // `{1..9}` are numbers too.
            let text = slice(value, self.script);
            let is_range = text.chars().all(|c| c.is_ascii_digit() || "{}.-".contains(c));
            let number = Word::plain("0");
            self.analysis.evaluation.assign(name, if is_range { &number } else { &word });
            self.analysis.loops.push(Assignment { name: name.to_owned(), value: word });
        }
    }

    /// Checks a token: nothing may be between it and the last one, or be hidden in it.
    fn token(&mut self, node: Node<'_>) {
        self.gap(node.start_byte());
        self.reached = self.reached.max(node.end_byte());
        let text = slice(node, self.script);
        // In `wc -n1<f` the grammar reads `-n1` as a descriptor.
        let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        if node.kind() == "file_descriptor" && !digits(text) {
            self.analysis.note(Uncertainty::Syntax);
        }
        let hides = match node.kind() {
            "comment" | "heredoc_start" | "heredoc_end" => false,
            "heredoc_body" | "heredoc_content" if is_quoted_heredoc(node, self.script) => false,
            // `"${x:-'$(y)'}"` runs y: inside double quotes, single quotes are letters.
            "raw_string" if has_ancestor(node, &["expansion"]) => text.contains(['$', '`']),
            // The shell runs substitutions in an array index when it evaluates the index.
            "raw_string" | "ansi_c_string" => text.contains("[$(") || text.contains("[`"),
            "string_content" if text.contains("[\\$(") || text.contains("[\\`") => true,
            _ if node.is_named() => has_substitution(text),
            _ => false,
        };
        // In `-a$"b"` the token `$` contains the `-a`.
        if !node.is_named() && node.kind() == "$" && !self.is_translation(node) {
            self.analysis.note(Uncertainty::Syntax);
        }
        // The grammar appends `\\x` on a new line to the word before.
        if node.kind() == "word" && text.replace("\\\n", "").contains('\n') {
            self.analysis.note(Uncertainty::Syntax);
        }
        if hides {
            self.analysis.note(Uncertainty::Hidden);
        }
        if node.kind() == "word"
            && let Some(uncertainty) = super::text::look_alike(text)
        {
            self.analysis.note(uncertainty);
        }
    }

    /// Returns true if a `$` is only the prefix of a translated string.
    fn is_translation(&self, node: Node<'_>) -> bool {
        let rest = self.script.get(node.end_byte()..).unwrap_or_default();
        let text = slice(node, self.script);
        // In a string, the token includes the space before it: `"$a $b"`.
        let string = node.parent().and_then(|parent| parent.parent());
        let text = match string.map(|string| string.kind()) {
            Some("string" | "heredoc_body") => text.trim_start(),
            _ => text,
        };
        text == "$" && !rest.starts_with(char::is_whitespace) && !rest.is_empty()
    }

    /// Checks that there is only white space between tokens.
    fn gap(&mut self, until: usize) {
        let skipped = self.script.get(self.reached..until).unwrap_or_default();
        let rest = self.script.get(until..).unwrap_or_default();
        // The grammar loses a `-` before a here-document.
        if skipped.trim().is_empty() || skipped.trim() == "-" && rest.starts_with("<<") {
            return;
        }
        if !skipped.replace("\\\n", "").trim().is_empty() {
            self.analysis.note(Uncertainty::Syntax);
        }
    }

    fn command(&mut self, node: Node<'_>) -> Command {
        let mut command = Command::default();
        let mut word: Vec<Node<'_>> = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            // The grammar splits some words; to the shell, only white space does.
            if word.last().is_some_and(|last| last.end_byte() != child.start_byte()) {
                command.words.push(word::read_joined(&word, self.script));
                word.clear();
            }
            match child.kind() {
                "variable_assignment" => command.assignments.push(self.assignment(child)),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(child, &mut command);
                }
                "$" | "comment" => {}
                // The keyword of a declaration.
                kind if !child.is_named() && node.kind() != "command" => {
                    command.words.push(Word::plain(kind));
                }
                _ => word.push(child),
            }
        }
        if !word.is_empty() {
            command.words.push(word::read_joined(&word, self.script));
        }
        if let Some(parent) = node.parent().filter(|p| p.kind() == "redirected_statement") {
            self.redirects(parent, &mut command);
        }
        command
    }

    fn assignment(&self, node: Node<'_>) -> Assignment {
        let text = slice(node, self.script);
        let name = node.child_by_field_name("name").map(|name| slice(name, self.script));
        let mut name = name.unwrap_or(text).to_owned();
        // `x+=y` appends to x.
        if text.get(name.len()..).is_some_and(|rest| rest.starts_with("+=")) {
            name.push('+');
        }
        let value = node
            .child_by_field_name("value")
            .map_or_else(|| Word::plain(""), |value| word::read(value, self.script));
        Assignment { name, value }
    }

    fn redirects(&mut self, statement: Node<'_>, command: &mut Command) {
        let mut cursor = statement.walk();
        for child in statement.children_by_field_name("redirect", &mut cursor) {
            self.redirect(child, command);
        }
    }

    /// Reads a redirection. In `cat >a b` the grammar assigns `b` to the redirection, although it
    /// is an argument.
    fn redirect(&mut self, node: Node<'_>, command: &mut Command) {
        let mut cursor = node.walk();
        let mut sign = "";
        let mut targets = 0;
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_descriptor" | "heredoc_start" | "heredoc_body" | "heredoc_end" => {}
                "file_redirect" | "herestring_redirect" => self.redirect(child, command),
                _ if node.kind() == "heredoc_redirect" => {
                    let field = (0..node.child_count())
                        .find(|i| node.child(u32::try_from(*i).unwrap_or(0)) == Some(child))
                        .and_then(|i| node.field_name_for_child(u32::try_from(i).unwrap_or(0)));
                    if field == Some("argument") {
                        command.words.push(word::read(child, self.script));
                    }
                }
                kind if !child.is_named() => sign = whole_sign(kind, child, self.script),
                _ => {
                    targets += 1;
                    let word = word::read(child, self.script);
                    if targets > 1 {
                        command.words.push(word);
                    } else if node.kind() == "file_redirect" {
                        file(sign, word, command);
                    }
                }
            }
        }
    }

    fn push(&mut self, command: Command) {
        if self.analysis.commands.len() >= MAX_COMMANDS {
            return self.analysis.note(Uncertainty::TooMuch);
        }
        if let Some(word) = command.words.first() {
            match word.literal() {
                Some(name) if !name.is_ascii() => {
                    self.analysis
                        .note(Uncertainty::Character(format!("a program name like `{name}`")));
                }
                _ => {}
            }
        }
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        for word in command.words.iter().chain(targets) {
            let raw = word.raw();
            // `{x}<f cat` runs cat: to the grammar, `{x}` is an ordinary word.
            let descriptor = raw.starts_with('{') && raw.ends_with('}') && raw.len() > 2;
            let broken =
                raw.replace("\\\n", "").contains('\n') && !raw.contains(['\'', '"', '`', '(']);
            if broken || descriptor && !raw.contains([',', '.']) {
                self.analysis.note(Uncertainty::Syntax);
            }
        }
        launch::push(command, self.analysis, self.through);
    }
}

/// Returns the sign of a redirection. The grammar finds only a half of `<>`.
fn whole_sign<'k>(kind: &'k str, node: Node<'_>, script: &str) -> &'k str {
    let is_before = |sign| script.get(..node.start_byte()).is_some_and(|text| text.ends_with(sign));
    let is_after = |sign| script.get(node.end_byte()..).is_some_and(|text| text.starts_with(sign));
    match kind {
        ">" if is_before('<') => "<>",
        "<" if is_after('>') => "<>",
        kind => kind,
    }
}

fn file(sign: &str, target: Word, command: &mut Command) {
    let number = target.literal().is_some_and(|t| {
        !t.is_empty() && t.trim_end_matches('-').chars().all(|c| c.is_ascii_digit())
    });
    // `2>&1` and `<&-` are about descriptors, not files.
    if sign.ends_with('&') && (number || sign.ends_with("&-")) {
        return;
    }
    let access = match sign {
        "<" | "<&" | "<&-" => RedirectAccess::Read,
        ">>" | "&>>" => RedirectAccess::Append,
        _ => RedirectAccess::Write,
    };
    if sign == "<>" {
        command.redirects.push(Redirect { access: RedirectAccess::Read, target: target.clone() });
    }
    command.redirects.push(Redirect { access, target });
}

fn has_parent(node: Node<'_>, kinds: &[&str]) -> bool {
    node.parent().is_some_and(|parent| kinds.contains(&parent.kind()))
}

fn has_ancestor(node: Node<'_>, kinds: &[&str]) -> bool {
    let mut at = node.parent();
    while let Some(parent) = at {
        if kinds.contains(&parent.kind()) {
            return true;
        }
        // The inside of another substitution is not part of this value.
        if parent.kind() == "command_substitution" {
            return false;
        }
        at = parent.parent();
    }
    false
}

fn body_is_command(node: Node<'_>) -> bool {
    node.child_by_field_name("body").is_some_and(|body| {
        matches!(body.kind(), "command" | "declaration_command" | "unset_command")
    })
}

fn is_quoted_heredoc(node: Node<'_>, script: &str) -> bool {
    let mut at = node.parent();
    while let Some(parent) = at {
        if parent.kind() == "heredoc_redirect" {
            let mut cursor = parent.walk();
            let start = parent.children(&mut cursor).find(|c| c.kind() == "heredoc_start");
            return start.is_some_and(|s| slice(s, script).contains(['\'', '"', '\\']));
        }
        at = parent.parent();
    }
    false
}

/// Returns true if the text has a `` ` `` or `$(` that is not escaped.
fn has_substitution(text: &str) -> bool {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '`' => return true,
            '$' | '<' | '>' if characters.peek() == Some(&'(') => return true,
            _ => {}
        }
    }
    false
}
