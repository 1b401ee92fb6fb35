//! Which model a text means.
//!
//! A text is an id, `provider/id`, or a part of an id or a name, and may end in `:level`. Exact
//! matches come before parts, the whole text before the text without its level (ids contain
//! colons), and a provider with credentials before one without. Works on names alone.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use pi_protocol::ThinkingLevel;
use pi_tools::collation::SortKey;

/// Longer texts are not looked for: no model is called so.
const LONGEST: usize = 1000;

/// What a model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelName<'a> {
    /// The provider's id.
    pub provider: &'a str,
    /// The model's id.
    pub id: &'a str,
    /// The name for people.
    pub name: &'a str,
}

/// What becomes of a `:suffix` that is no thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffix {
    /// It is part of the id.
    Strict,
    /// It is dropped with a warning.
    Lenient,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub struct ModelReference<'t> {
    /// The text.
    pub text: &'t str,
    /// Only models of this provider count.
    pub provider: Option<&'t str>,
    /// What becomes of a `:suffix` that is no thinking level.
    pub suffix: Suffix,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution<'a> {
    /// One model.
    Found {
        /// The model.
        model: ModelName<'a>,
        /// The level that the text ends in.
        level: Option<ThinkingLevel>,
        /// What was left out.
        warning: Option<String>,
    },
    /// Several providers have it, and nothing chooses between them.
    Ambiguous {
        /// One model of each provider.
        candidates: Vec<ModelName<'a>>,
        /// How many of them have credentials.
        usable: usize,
        /// The level that the text ends in.
        level: Option<ThinkingLevel>,
        /// What was left out.
        warning: Option<String>,
    },
    /// None; but the text may name a provider.
    NotFound(Option<Target<'a>>),
}

/// A model that nobody knows, of a provider that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target<'a> {
    /// The provider.
    pub provider: &'a str,
    /// What follows the provider in the text.
    pub text: String,
    /// The same without a level.
    pub id: String,
    /// The level.
    pub level: Option<ThinkingLevel>,
}

/// Candidates for one text, before levels.
enum Pick<'a> {
    One(ModelName<'a>),
    Several(Vec<ModelName<'a>>, usize),
}

/// Finds the model that `reference` means among `models`. `usable` says whether a provider has
/// credentials; it only decides between providers.
pub fn resolve<'a>(
    reference: &ModelReference<'_>,
    models: &[ModelName<'a>],
    usable: &dyn Fn(&str) -> bool,
) -> Resolution<'a> {
    let usable = &once_per_provider(usable);
    let whole = reference.text.trim();
    let mut text = whole;
    let (mut level, mut warning) = (None, None);
    loop {
        if let Some(pick) = pick(text, reference.provider, models, usable) {
            // A suffix that was dropped leaves no level: it is not known what was meant.
            let level = level.filter(|_| warning.is_none());
            return match pick {
                Pick::One(model) => Resolution::Found { model, level, warning },
                Pick::Several(candidates, usable) => {
                    Resolution::Ambiguous { candidates, usable, level, warning }
                }
            };
        }
        let Some((head, suffix)) = text.rsplit_once(':') else { break };
        match (suffix.parse::<ThinkingLevel>(), reference.suffix) {
            (Ok(found), _) => level = level.or(Some(found)),
            (Err(_), Suffix::Strict) => break,
            (Err(_), Suffix::Lenient) => {
                warning.get_or_insert_with(|| {
                    format!(
                        "Invalid thinking level \"{suffix}\" in pattern \"{text}\". Using default instead."
                    )
                });
            }
        }
        text = head;
    }
    Resolution::NotFound(target(whole, reference.provider, models))
}

/// The model with exactly this id or `provider/id`, without levels and parts.
pub(super) fn exact<'a>(text: &str, models: &[ModelName<'a>]) -> Vec<ModelName<'a>> {
    let text = text.trim();
    match exact_pick(text, named(text, None, models), None, models, &|_| false) {
        Some(Pick::One(model)) => vec![model],
        Some(Pick::Several(candidates, _)) => candidates,
        None => Vec::new(),
    }
}

fn pick<'a>(
    text: &str,
    provider: Option<&str>,
    models: &[ModelName<'a>],
    usable: &dyn Fn(&str) -> bool,
) -> Option<Pick<'a>> {
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let named = named(text, provider, models);
    if let Some(pick) = exact_pick(text, named, provider, models, usable) {
        return Some(pick);
    }
    let parts = |text: &str, provider: Option<&str>| {
        let text = text.to_lowercase();
        let matching = |model: &&ModelName<'a>| {
            of(provider, model)
                && (model.id.to_lowercase().contains(&text)
                    || model.name.to_lowercase().contains(&text))
        };
        best(models.iter().filter(matching).copied().collect(), usable)
    };
    named.and_then(|(provider, rest)| parts(rest, Some(provider))).or_else(|| parts(text, provider))
}

fn exact_pick<'a>(
    text: &str,
    named: Option<(&'a str, &str)>,
    provider: Option<&str>,
    models: &[ModelName<'a>],
    usable: &dyn Fn(&str) -> bool,
) -> Option<Pick<'a>> {
    let by_name = named.and_then(|(provider, rest)| {
        models.iter().find(|model| model.provider == provider && same(model.id, rest))
    });
    let bare = models.iter().filter(|model| of(provider, model) && same(model.id, text));
    choose(one_per_provider(by_name.into_iter().chain(bare).copied()), by_name.copied(), usable)
}

/// The provider that the text begins with, the longest of several, and what follows.
fn named<'a, 't>(
    text: &'t str,
    provider: Option<&str>,
    models: &[ModelName<'a>],
) -> Option<(&'a str, &'t str)> {
    let mut longest: Option<(&'a str, &'t str)> = None;
    let mut previous = "";
    for model in models.iter().filter(|model| of(provider, model)) {
        // Models of a provider are neighbours.
        if model.provider == previous {
            continue;
        }
        previous = model.provider;
        if let Some((head, rest)) = text.split_at_checked(previous.len())
            && let Some(rest) = rest.strip_prefix('/')
            && !rest.is_empty()
            && head.eq_ignore_ascii_case(previous)
            && longest.is_none_or(|(known, _)| known.len() < previous.len())
        {
            longest = Some((previous, rest));
        }
    }
    longest
}

/// What a text that means no model says about a model that nobody knows.
fn target<'a>(text: &str, provider: Option<&str>, models: &[ModelName<'a>]) -> Option<Target<'a>> {
    let explicit = || {
        let provider = models.iter().find(|model| provider.is_some() && of(provider, model))?;
        Some((provider.provider, text))
    };
    let (provider, text) = named(text, provider, models).or_else(explicit)?;
    let (id, level) = match text.rsplit_once(':').map(|(head, tail)| (head, tail.parse())) {
        Some((head, Ok(level))) => (head, Some(level)),
        _ => (text, None),
    };
    Some(Target { provider, text: text.to_owned(), id: id.to_owned(), level })
}

/// Of several that match in part: those with credentials before others, names that stay before
/// dated ones, and the last in the order of names, which is usually the newest.
fn best<'a>(mut matches: Vec<ModelName<'a>>, usable: &dyn Fn(&str) -> bool) -> Option<Pick<'a>> {
    if matches.iter().any(|model| usable(model.provider)) {
        matches.retain(|model| usable(model.provider));
    }
    if matches.iter().any(|model| is_alias(model.id)) {
        matches.retain(|model| is_alias(model.id));
    }
    let id = matches.iter().map(|model| model.id).max_by(|a, b| order(a, b))?;
    let same_id = matches.into_iter().filter(|model| model.id == id);
    choose(one_per_provider(same_id), None, usable)
}

/// Chooses between providers.
fn choose<'a>(
    mut candidates: Vec<ModelName<'a>>,
    named: Option<ModelName<'a>>,
    usable: &dyn Fn(&str) -> bool,
) -> Option<Pick<'a>> {
    if let Some(named) = named.filter(|named| usable(named.provider)) {
        return Some(Pick::One(named));
    }
    let ready: Vec<_> = candidates.iter().filter(|model| usable(model.provider)).collect();
    match (ready.as_slice(), named, candidates.len()) {
        (_, None, 0) => None,
        ([only], _, _) => Some(Pick::One(**only)),
        (_, Some(named), _) => Some(Pick::One(named)),
        (_, None, 1) => candidates.pop().map(Pick::One),
        (ready, None, _) => {
            let count = ready.len();
            Some(Pick::Several(candidates, count))
        }
    }
}

/// Hundreds of models may match, and finding out about a provider may mean reading a file.
fn once_per_provider(usable: &dyn Fn(&str) -> bool) -> impl Fn(&str) -> bool {
    let known = RefCell::new(BTreeMap::new());
    move |provider| {
        let answer = known.borrow().get(provider).copied();
        answer.unwrap_or_else(|| {
            let answer = usable(provider);
            known.borrow_mut().insert(provider.to_owned(), answer);
            answer
        })
    }
}

fn one_per_provider<'a>(models: impl Iterator<Item = ModelName<'a>>) -> Vec<ModelName<'a>> {
    let mut first: Vec<ModelName<'a>> = Vec::new();
    for model in models {
        if first.iter().all(|known| known.provider != model.provider) {
            first.push(model);
        }
    }
    first
}

fn of(provider: Option<&str>, model: &ModelName<'_>) -> bool {
    provider.is_none_or(|provider| model.provider.eq_ignore_ascii_case(provider))
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}

/// An id that stays the same when there is a new version.
fn is_alias(id: &str) -> bool {
    let dated = id
        .rsplit_once('-')
        .is_some_and(|(_, end)| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit()));
    id.ends_with("-latest") || !dated
}

/// The order of names that people expect; of names that differ in case, small letters first.
pub(super) fn order(a: &str, b: &str) -> Ordering {
    SortKey::new(&a.to_lowercase()).cmp(&SortKey::new(&b.to_lowercase())).then_with(|| b.cmp(a))
}
