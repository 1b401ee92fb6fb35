//! "Did you mean": finds the known name that is closest to a mistyped one.

/// The longest name that is compared, in characters.
const LONGEST: usize = 64;

/// Returns the closest name, if it is close enough: one letter in three may be wrong, missing or
/// superfluous. Two swapped letters count as one mistake.
pub fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = typed.to_lowercase().chars().collect();
    // Longer than any name, and the table below would be large.
    if typed.len() > LONGEST {
        return None;
    }
    let candidates = known.map(|name| (distance(&typed, &name.chars().collect::<Vec<_>>()), name));
    // At the same distance, a missing letter is more likely than a wrong one, and a swap more likely
    // than a superfluous letter.
    let rank = |(distance, name): &(usize, &str)| {
        (*distance, !misses_letters(&typed, name), name.len().abs_diff(typed.len()))
    };
    let (distance, name) = candidates.min_by_key(rank)?;
    (distance <= typed.len().max(name.len()).div_ceil(3).min(3)).then_some(name)
}

/// Returns up to `count` names in the order of their similarity: at least half of the letters agree.
pub fn closest<'a>(
    typed: &str,
    known: impl Iterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let letters: Vec<char> = typed.to_lowercase().chars().take(LONGEST).collect();
    let mut ranked: Vec<(usize, &str)> = known
        .map(|name| {
            let known: Vec<char> = name.to_lowercase().chars().take(LONGEST).collect();
            (distance(&letters, &known), name)
        })
        .filter(|(distance, name)| *distance * 2 <= letters.len().max(name.len()))
        .collect();
    ranked.sort_by_key(|(distance, name)| (*distance, name.len()));
    ranked.into_iter().take(count).map(|(_, name)| name).collect()
}

/// Returns true if a name has all letters that were typed, in their order.
fn misses_letters(typed: &[char], name: &str) -> bool {
    let mut letters = name.chars();
    typed.iter().all(|typed| letters.any(|letter| letter == *typed))
}

/// Returns true if one letter is wrong, missing or superfluous, or two are swapped.
pub fn is_one_mistake(typed: &str, name: &str) -> bool {
    let [typed, name] =
        [typed.to_lowercase(), name.to_owned()].map(|s| s.chars().collect::<Vec<_>>());
    distance(&typed, &name) == 1
}

/// Counts the letters that are wrong, missing, superfluous or swapped with their neighbor.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                table[i][j] = i + j;
                continue;
            }
            let other = usize::from(a[i - 1] != b[j - 1]);
            let mut best =
                (table[i - 1][j] + 1).min(table[i][j - 1] + 1).min(table[i - 1][j - 1] + other);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = best;
        }
    }
    table[a.len()][b.len()]
}
