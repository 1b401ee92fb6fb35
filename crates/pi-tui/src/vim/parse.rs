//! The grammar of vim's commands: counts, operators, motions and text objects.

/// A movement of the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Left,
    Right,
    Up,
    Down,
    WordForward { big: bool },
    WordBackward { big: bool },
    WordEnd { big: bool },
    LineStart,
    FirstNonBlank,
    LineEnd,
    FirstLine,
    LastLine,
    Find(Find),
    RepeatFind { reverse: bool },
}

/// The search for a character in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Find {
    pub(super) target: char,
    pub(super) forward: bool,
    /// The caret stops beside the character.
    pub(super) till: bool,
}

/// A piece of text around the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) kind: ObjectKind,
    /// With the spaces, quotes or brackets around it.
    pub(super) around: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Word { big: bool },
    Quotes(char),
    Brackets(char, char),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Delete,
    Change,
    Yank,
}

/// The text that an operator works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Motion(Motion),
    Object(Object),
    Lines,
    Selection,
}

/// The place where text is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InsertAt {
    Caret,
    After,
    LineStart,
    LineEnd,
    Above,
    Below,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Move(Motion),
    Select(Object),
    Operate(Operator, Target),
    Insert(InsertAt),
    Put { before: bool },
    Replace(char),
    ToggleCase,
    Join,
    Undo,
    Repeat,
    Visual { lines: bool },
    SwapEnds,
}

/// A complete command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) count: Option<usize>,
    pub(super) action: Action,
}

/// The meaning of the keys that were pressed so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsed {
    /// More keys are needed.
    Incomplete,
    /// The keys are no command.
    Invalid,
    Command(Command),
}

/// The largest count: more does nothing useful and takes time.
const MAX_COUNT: usize = 9999;

/// Reads the keys of a command.
pub(super) fn parse(keys: &str, is_visual: bool) -> Parsed {
    let mut rest = keys.chars();
    let count = count(&mut rest);
    let Some(first) = rest.next() else { return Parsed::Incomplete };
    let simple = if is_visual { visual(first) } else { normal(first) };
    if let Some(action) = simple {
        return Parsed::Command(Command { count, action });
    }
    match first {
        'd' | 'c' | 'y' => operator(first, count, &mut rest),
        'r' => match rest.next() {
            None => Parsed::Incomplete,
            Some(character) => {
                Parsed::Command(Command { count, action: Action::Replace(character) })
            }
        },
        'i' | 'a' => match rest.next() {
            None => Parsed::Incomplete,
            Some(name) => match object(first == 'a', name) {
                None => Parsed::Invalid,
                Some(object) => Parsed::Command(Command { count, action: Action::Select(object) }),
            },
        },
        _ => match motion(first, &mut rest) {
            Next::Incomplete => Parsed::Incomplete,
            Next::Invalid => Parsed::Invalid,
            Next::Motion(motion) => {
                Parsed::Command(Command { count, action: Action::Move(motion) })
            }
        },
    }
}

/// Reads a count. A zero at its start is a motion.
fn count(keys: &mut std::str::Chars<'_>) -> Option<usize> {
    let mut count: Option<usize> = None;
    while let Some(digit) = keys.clone().next().and_then(|key| key.to_digit(10)) {
        if digit == 0 && count.is_none() {
            break;
        }
        keys.next();
        let digit = usize::try_from(digit).unwrap_or(0);
        count = Some((count.unwrap_or(0) * 10 + digit).min(MAX_COUNT));
    }
    count
}

/// Returns the action of one key in normal mode.
fn normal(key: char) -> Option<Action> {
    use Operator::{Change, Delete, Yank};
    let on = |operator, motion| Action::Operate(operator, Target::Motion(motion));
    Some(match key {
        'i' => Action::Insert(InsertAt::Caret),
        'a' => Action::Insert(InsertAt::After),
        'I' => Action::Insert(InsertAt::LineStart),
        'A' => Action::Insert(InsertAt::LineEnd),
        'o' => Action::Insert(InsertAt::Below),
        'O' => Action::Insert(InsertAt::Above),
        'x' => on(Delete, Motion::Right),
        'X' => on(Delete, Motion::Left),
        's' => on(Change, Motion::Right),
        'D' => on(Delete, Motion::LineEnd),
        'C' => on(Change, Motion::LineEnd),
        'S' => Action::Operate(Change, Target::Lines),
        'Y' => Action::Operate(Yank, Target::Lines),
        'p' => Action::Put { before: false },
        'P' => Action::Put { before: true },
        '~' => Action::ToggleCase,
        'J' => Action::Join,
        'u' => Action::Undo,
        '.' => Action::Repeat,
        'v' => Action::Visual { lines: false },
        'V' => Action::Visual { lines: true },
        _ => return None,
    })
}

/// Returns the action of one key in visual mode.
fn visual(key: char) -> Option<Action> {
    let on_selection = |operator| Action::Operate(operator, Target::Selection);
    Some(match key {
        'd' | 'x' | 'X' | 'D' => on_selection(Operator::Delete),
        'c' | 's' | 'C' | 'S' => on_selection(Operator::Change),
        'y' | 'Y' => on_selection(Operator::Yank),
        'p' | 'P' => Action::Put { before: false },
        '~' => Action::ToggleCase,
        'J' => Action::Join,
        'o' => Action::SwapEnds,
        'v' => Action::Visual { lines: false },
        'V' => Action::Visual { lines: true },
        _ => return None,
    })
}

fn operator(key: char, before: Option<usize>, rest: &mut std::str::Chars<'_>) -> Parsed {
    let operator = match key {
        'd' => Operator::Delete,
        'c' => Operator::Change,
        _ => Operator::Yank,
    };
    let after = count(rest);
    let count = match (before, after) {
        (None, None) => None,
        (before, after) => Some((before.unwrap_or(1) * after.unwrap_or(1)).min(MAX_COUNT)),
    };
    let Some(next) = rest.next() else { return Parsed::Incomplete };
    let target = match next {
        same if same == key => Target::Lines,
        'i' | 'a' => match rest.next() {
            None => return Parsed::Incomplete,
            Some(name) => match object(next == 'a', name) {
                None => return Parsed::Invalid,
                Some(object) => Target::Object(object),
            },
        },
        other => match motion(other, rest) {
            Next::Incomplete => return Parsed::Incomplete,
            Next::Invalid => return Parsed::Invalid,
            Next::Motion(motion) => Target::Motion(motion),
        },
    };
    Parsed::Command(Command { count, action: Action::Operate(operator, target) })
}

enum Next {
    Incomplete,
    Invalid,
    Motion(Motion),
}

fn motion(key: char, rest: &mut std::str::Chars<'_>) -> Next {
    Next::Motion(match key {
        'h' => Motion::Left,
        'l' | ' ' => Motion::Right,
        'k' => Motion::Up,
        'j' => Motion::Down,
        'w' | 'W' => Motion::WordForward { big: key == 'W' },
        'b' | 'B' => Motion::WordBackward { big: key == 'B' },
        'e' | 'E' => Motion::WordEnd { big: key == 'E' },
        '0' => Motion::LineStart,
        '^' => Motion::FirstNonBlank,
        '$' => Motion::LineEnd,
        'G' => Motion::LastLine,
        ';' => Motion::RepeatFind { reverse: false },
        ',' => Motion::RepeatFind { reverse: true },
        'g' => match rest.next() {
            None => return Next::Incomplete,
            Some('g') => Motion::FirstLine,
            Some(_) => return Next::Invalid,
        },
        'f' | 'F' | 't' | 'T' => match rest.next() {
            None => return Next::Incomplete,
            Some(target) => Motion::Find(Find {
                target,
                forward: key.is_lowercase(),
                till: key.eq_ignore_ascii_case(&'t'),
            }),
        },
        _ => return Next::Invalid,
    })
}

fn object(around: bool, name: char) -> Option<Object> {
    let kind = match name {
        'w' | 'W' => ObjectKind::Word { big: name == 'W' },
        '"' | '\'' | '`' => ObjectKind::Quotes(name),
        '(' | ')' | 'b' => ObjectKind::Brackets('(', ')'),
        '[' | ']' => ObjectKind::Brackets('[', ']'),
        '{' | '}' | 'B' => ObjectKind::Brackets('{', '}'),
        '<' | '>' => ObjectKind::Brackets('<', '>'),
        _ => return None,
    };
    Some(Object { kind, around })
}
