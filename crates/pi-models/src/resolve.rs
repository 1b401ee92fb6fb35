//! Resolving the name of a model as users write it.
//!
//! A reference is an id, `provider/id`, or a part of an id or a name, and may end in `:level`. Exact
//! matches take precedence over partial ones, the whole text over the text without its level (ids
//! contain colons), and a provider with credentials over one without. Only names are needed, no
//! records of the catalog.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use pi_protocol::ThinkingLevel;
use pi_tools::collation::SortKey;

/// Length limit of a reference; no model has a longer name.
const LONGEST: usize = 1000;

/// The name of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelName<'a> {
    /// Id of the provider.
    pub provider: &'a str,
    /// Id of the model.
    pub id: &'a str,
    /// Display name.
    pub name: &'a str,
}

/// The treatment of a `:suffix` that is not a thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suffix {
    /// The suffix is part of the id.
    Strict,
    /// The suffix is dropped with a warning.
    Lenient,
}

/// A reference to a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelReference<'t> {
    /// The reference as the user wrote it.
    pub(crate) text: &'t str,
    /// Restricts the search to this provider.
    pub(crate) provider: Option<&'t str>,
    /// Treatment of a `:suffix` that is not a thinking level.
    pub(crate) suffix: Suffix,
}

/// The result of resolving a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resolution<'a> {
    /// The reference means one model.
    Found {
        /// Name of the model.
        model: ModelName<'a>,
        /// Thinking level at the end of the reference.
        level: Option<ThinkingLevel>,
        /// Warning about a dropped suffix.
        warning: Option<String>,
    },
    /// Several providers have the model, and credentials do not decide between them.
    Ambiguous {
        /// The matching models, one of each provider.
        candidates: Vec<ModelName<'a>>,
        /// Number of candidates whose provider has credentials.
        usable: usize,
        /// Thinking level at the end of the reference.
        level: Option<ThinkingLevel>,
        /// Warning about a dropped suffix.
        warning: Option<String>,
    },
    /// No model matches. The reference may still name a known provider.
    NotFound(Option<UnknownModel<'a>>),
}

/// An unknown model of a known provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownModel<'a> {
    /// Id of the provider.
    pub(crate) provider: &'a str,
    /// Text after the provider.
    pub(crate) text: String,
    /// Text after the provider, without a thinking level.
    pub(crate) id: String,
    /// Thinking level at the end of the reference.
    pub(crate) level: Option<ThinkingLevel>,
}

/// The models that match a text without its level.
enum Pick<'a> {
    One(ModelName<'a>),
    Several(Vec<ModelName<'a>>, usize),
}

/// Finds the model that `reference` means among `models`. `usable` returns true for a provider with
/// credentials; it only decides between providers.
pub(crate) fn resolve<'a>(
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
            // With a dropped suffix, the intended level is not known.
            let level = if warning.is_none() { level } else { None };
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
    Resolution::NotFound(unknown_model(whole, reference.provider, models))
}

/// Returns the models with exactly this id or `provider/id`.
pub(crate) fn exact<'a>(text: &str, models: &[ModelName<'a>]) -> Vec<ModelName<'a>> {
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

/// Returns the provider at the beginning of the text, the longest of several, and the rest.
fn named<'a, 't>(
    text: &'t str,
    provider: Option<&str>,
    models: &[ModelName<'a>],
) -> Option<(&'a str, &'t str)> {
    let mut longest: Option<(&'a str, &'t str)> = None;
    let mut previous = "";
    for model in models.iter().filter(|model| of(provider, model)) {
        // The models of a provider are adjacent.
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

/// Interprets a text that matches no model as an unknown model of a known provider.
fn unknown_model<'a>(
    text: &str,
    provider: Option<&str>,
    models: &[ModelName<'a>],
) -> Option<UnknownModel<'a>> {
    let explicit = || {
        let provider = models.iter().find(|model| provider.is_some() && of(provider, model))?;
        Some((provider.provider, text))
    };
    let (provider, text) = named(text, provider, models).or_else(explicit)?;
    let (id, level) = match text.rsplit_once(':').map(|(head, tail)| (head, tail.parse())) {
        Some((head, Ok(level))) => (head, Some(level)),
        _ => (text, None),
    };
    Some(UnknownModel { provider, text: text.to_owned(), id: id.to_owned(), level })
}

/// Selects among partial matches: models with credentials before others, aliases before dated ids,
/// and the last one in the order of names, which is usually the newest.
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

/// Selects between providers.
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

/// Caches the result for each provider: hundreds of models may match, and looking up credentials
/// may read a file.
fn once_per_provider(usable: &dyn Fn(&str) -> bool) -> impl Fn(&str) -> bool {
    let known = RefCell::new(BTreeMap::new());
    move |provider| {
        let cached = known.borrow().get(provider).copied();
        cached.unwrap_or_else(|| {
            let usable = usable(provider);
            known.borrow_mut().insert(provider.to_owned(), usable);
            usable
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

/// Returns true for an id without a date, which stays the same for new versions.
fn is_alias(id: &str) -> bool {
    let dated = id
        .rsplit_once('-')
        .is_some_and(|(_, end)| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit()));
    id.ends_with("-latest") || !dated
}

/// Compares names in natural order; lower case first if only the case differs.
pub(crate) fn order(a: &str, b: &str) -> Ordering {
    SortKey::new(&a.to_lowercase()).cmp(&SortKey::new(&b.to_lowercase())).then_with(|| b.cmp(a))
}

/// Returns true if the text is an id, perhaps with a thinking level.
pub(crate) fn is_exact(text: &str, id: &str) -> bool {
    let head = text.trim().split_at_checked(id.len());
    head.is_some_and(|(head, rest)| {
        head.eq_ignore_ascii_case(id) && (rest.is_empty() || rest.starts_with(':'))
    })
}
