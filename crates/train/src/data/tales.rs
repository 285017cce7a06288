//! `tales`: little English tales from a weighted grammar, endless and deterministic, with a known code
//! length.
//!
//! A tale states facts early (who, where, what colour) and asks for them later, opens and closes quotes, and
//! keeps subject and verb in agreement at a distance. Every choice has a known probability, and no two
//! sequences of choices spell the same text, so minus the logarithm of the choices' probabilities is the
//! exact code length of the text: the fewest bits per byte any model can reach on average. Recalled facts
//! cost nothing, which is what a model must learn; scenes of free choices between them cost what their words
//! cost.
//!
//! Tale `i` of a seed is a pure function of (seed, i).

use kuramoto_model::random::below_u32;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::ops::Range;

/// Alternatives with whole-number weights. Within a list no text may begin another (see the tests).
type Choices = &'static [(&'static str, u32)];

const NAMES: Choices = &[
    ("Anna", 9),
    ("Ben", 8),
    ("Clara", 6),
    ("David", 6),
    ("Emma", 5),
    ("Finn", 4),
    ("Greta", 3),
    ("Hugo", 3),
    ("Iris", 2),
    ("Jonas", 2),
    ("Kira", 1),
    ("Leo", 1),
];
/// Who the names of the list above are; everything that follows agrees with it.
const IS_SHE: [bool; 12] = [true, false, true, false, true, false, true, false, true, false, true, false];
const TRAITS: Choices =
    &[("clever", 4), ("gentle", 3), ("proud", 2), ("quiet", 3), ("merry", 2), ("brave", 2)];
const TRADES: Choices =
    &[("baker", 4), ("weaver", 3), ("sailor", 3), ("gardener", 2), ("miller", 2), ("painter", 2)];
const PLACES: Choices = &[
    ("by the sea", 4),
    ("in the forest", 4),
    ("on a hill", 3),
    ("near the mill", 2),
    ("under the castle", 2),
    ("at the river", 1),
];
const COLOURS: Choices = &[("red", 5), ("blue", 4), ("green", 3), ("white", 2), ("yellow", 1), ("black", 1)];
const THINGS: Choices =
    &[("boat", 3), ("cloak", 3), ("lantern", 2), ("drum", 2), ("kite", 2), ("basket", 2), ("mirror", 1)];
const ANIMALS: Choices = &[("fox", 3), ("owl", 3), ("horse", 2), ("goat", 2), ("heron", 1)];
const WEATHER: Choices = &[("warm", 3), ("windy", 2), ("rainy", 2), ("cold", 2), ("foggy", 1)];
const ACTS: Choices = &[("slept", 3), ("sang", 3), ("waited", 2), ("danced", 2), ("listened", 1)];
const REPLIES: Choices = &[("Of course", 3), ("With pleasure", 2), ("I remember", 2), ("Listen well", 1)];
const ENDINGS: Choices = &[
    ("And so the day ended.", 3),
    ("Nobody forgot it.", 2),
    ("They laughed until the stars came out.", 2),
    ("It is still told today.", 1),
];
/// Words of a scene, where nothing but the grammar is foretold; the earlier ones are likelier.
#[rustfmt::skip]
const ADJECTIVES: Choices = &[
    ("big", 3), ("old", 3), ("sad", 3), ("shy", 3), ("icy", 3), ("odd", 3), ("new", 3), ("hot", 3),
    ("dry", 2), ("wet", 2), ("raw", 2), ("fat", 2), ("bold", 2), ("calm", 2), ("dark", 2), ("deep", 1),
    ("fair", 1), ("keen", 1), ("lazy", 1), ("mild", 1), ("neat", 1), ("pale", 1), ("rich", 1), ("soft", 1),
    ("tame", 1), ("vain", 1), ("warm", 1), ("wild", 1), ("ugly", 1), ("quick", 1),
];
#[rustfmt::skip]
const NOUNS: Choices = &[
    ("owl", 3), ("cat", 3), ("dog", 3), ("king", 3), ("bee", 3), ("ant", 3), ("elk", 3), ("door", 3),
    ("fly", 3), ("hen", 3), ("jar", 2), ("key", 2), ("log", 2), ("man", 2), ("nut", 2), ("oak", 2),
    ("pig", 2), ("rat", 2), ("sea", 2), ("toad", 2), ("urn", 1), ("vine", 1), ("web", 1), ("yak", 1),
    ("bird", 1), ("cup", 1), ("egg", 1), ("fish", 1), ("girl", 1), ("hill", 1), ("ice", 1), ("jug", 1),
    ("lamp", 1), ("moth", 1), ("nest", 1), ("pond", 1), ("rock", 1), ("star", 1), ("tree", 1), ("wolf", 1),
];
#[rustfmt::skip]
const VERBS: Choices = &[
    ("ran", 3), ("sat", 3), ("hid", 3), ("fell", 3), ("rose", 3), ("swam", 3), ("flew", 3), ("dug", 2),
    ("ate", 2), ("bit", 2), ("lay", 2), ("won", 2), ("bowed", 2), ("cried", 2), ("froze", 1), ("grew", 1),
    ("hopped", 1), ("jumped", 1), ("knelt", 1), ("leapt", 1), ("moved", 1), ("nodded", 1), ("paused", 1),
    ("spun", 1), ("turned", 1), ("wept", 1), ("yawned", 1),
];
#[rustfmt::skip]
const ADVERBS: Choices = &[
    ("far", 3), ("up", 3), ("down", 3), ("out", 3), ("back", 3), ("fast", 2), ("low", 2), ("high", 2),
    ("late", 2), ("twice", 1), ("well", 1), ("home", 1), ("ill", 1), ("near", 1), ("once", 1), ("soon", 1),
    ("away", 1), ("early", 1),
];
#[rustfmt::skip]
const PREPOSITIONS: Choices = &[
    ("by", 3), ("under", 3), ("past", 3), ("over", 2), ("from", 2), ("into", 1), ("like", 1), ("with", 1),
    ("at", 1), ("behind", 1),
];
/// What happens next; each begins with another word. The last ends the tale.
const EVENTS: Choices =
    &[("scene", 30), ("weather", 2), ("animal", 2), ("colour", 4), ("place", 2), ("trade", 2), ("end", 5)];

/// The default seed and length of `tales`: more than a short run reads twice.
pub const SEED: u64 = 0;
/// See [`SEED`].
pub const BYTES: usize = 12_000_000;

/// Bits that were spent at a byte of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spent {
    at: usize,
    bits: f64,
}

/// A stretch of text and what it cost to choose it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tales {
    text: Vec<u8>,
    spent: Vec<Spent>,
}

impl Tales {
    /// The first `bytes` bytes of the endless text of a seed.
    pub fn generate(seed: u64, bytes: usize) -> Tales {
        let mut tales = Tales::default();
        let mut index = 0;
        while tales.text.len() < bytes {
            Teller { random: random(seed, index), tales: &mut tales }.tell();
            index += 1;
        }
        tales.text.truncate(bytes);
        // A choice that is cut in two was spent where it began.
        let kept = tales.spent.partition_point(|spent| spent.at < bytes);
        tales.spent.truncate(kept);
        tales
    }

    /// The text.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Exact code length in bits of a stretch of the text, given all text before it.
    pub fn bits(&self, range: Range<usize>) -> f64 {
        let at = |byte: usize| self.spent.partition_point(|spent| spent.at < byte);
        self.spent[at(range.start)..at(range.end.max(range.start))].iter().map(|spent| spent.bits).sum()
    }

    /// Fewest bits per byte that a model can reach on a stretch of the text.
    pub fn floor(&self, range: Range<usize>) -> f64 {
        self.bits(range.clone()) / range.len().max(1) as f64
    }
}

fn random(seed: u64, index: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(index);
    random
}

/// Writes one tale.
struct Teller<'a> {
    random: ChaCha8Rng,
    tales: &'a mut Tales,
}

impl Teller<'_> {
    fn write(&mut self, text: &str) {
        self.tales.text.extend_from_slice(text.as_bytes());
    }

    /// Chooses by weight, leaving out what `allowed` refuses, and records what the choice cost; writes
    /// nothing.
    fn choose(&mut self, choices: Choices, allowed: impl Fn(usize) -> bool) -> usize {
        let weights =
            || choices.iter().enumerate().filter(|(i, _)| allowed(*i)).map(|(i, &(_, weight))| (i, weight));
        let total: u32 = weights().map(|(_, weight)| weight).sum();
        // The bias of 2^-32 is far below what a code length shows.
        let mut left = below_u32(&mut self.random, total);
        for (i, weight) in weights() {
            if left < weight {
                let bits = (f64::from(total) / f64::from(weight)).log2();
                self.tales.spent.push(Spent { at: self.tales.text.len(), bits });
                return i;
            }
            left -= weight;
        }
        unreachable!("the weights add up to their total")
    }

    /// Chooses by weight and writes the choice.
    fn say(&mut self, choices: Choices) -> &'static str {
        let chosen = choices[self.choose(choices, |_| true)].0;
        self.write(chosen);
        chosen
    }

    fn tell(&mut self) {
        let hero = self.choose(NAMES, |_| true);
        let name = NAMES[hero].0;
        let pronoun = if IS_SHE[hero] { "She" } else { "He" };
        self.write(name);
        self.write(" was a ");
        self.say(TRAITS);
        self.write(" ");
        let trade = self.say(TRADES);
        self.write(" who lived ");
        let place = self.say(PLACES);
        self.write(". ");
        self.write(pronoun);
        self.write(" had a ");
        let colour = self.say(COLOURS);
        self.write(" ");
        let thing = self.say(THINGS);
        self.write(". ");
        loop {
            match EVENTS[self.choose(EVENTS, |_| true)].0 {
                "weather" => {
                    self.write("One ");
                    self.say(WEATHER);
                    self.write(&format!(" morning {name} took the {colour} {thing} and "));
                    self.say(ACTS);
                    self.write(". ");
                }
                "scene" => self.scene(),
                "animal" => self.animals(place),
                "colour" => {
                    let question = format!("\"What colour is your {thing}?\" asked ");
                    self.ask(hero, &question, &format!("My {thing} is {colour}."));
                }
                "place" => self.ask(hero, "\"Where do you live?\" asked ", &format!("I live {place}.")),
                "trade" => self.ask(hero, "\"Tell me your trade,\" said ", &format!("I am a {trade}.")),
                _ => break,
            }
        }
        self.say(ENDINGS);
        self.write("\n\n");
    }

    /// A sentence of free choices.
    fn scene(&mut self) {
        const OPENINGS: Choices = &[("This ", 3), ("Every ", 2), ("That ", 2), ("His ", 1), ("Her ", 1)];
        self.say(OPENINGS);
        for words in [ADJECTIVES, NOUNS, VERBS, ADVERBS, PREPOSITIONS] {
            self.say(words);
            self.write(" ");
        }
        self.write("the ");
        self.say(ADJECTIVES);
        self.write(" ");
        self.say(NOUNS);
        self.write(". ");
    }

    /// Subject and verb agree across a phrase.
    fn animals(&mut self, place: &str) {
        const COUNTS: Choices = &[("The ", 3), ("Two ", 2)];
        let plural = self.say(COUNTS) == "Two ";
        self.say(ANIMALS);
        let (ending, verb) = if plural { ("s", " were ") } else { ("", " was ") };
        self.write(&format!("{ending} that lived {place} too{verb}"));
        self.say(TRAITS);
        self.write(if plural { " and they " } else { " and it " });
        self.say(ACTS);
        self.write(". ");
    }

    /// Somebody else asks, the hero answers from what was said before.
    fn ask(&mut self, hero: usize, question: &str, answer: &str) {
        self.write(question);
        let other = self.choose(NAMES, |name| name != hero);
        self.write(NAMES[other].0);
        self.write(". \"");
        self.say(REPLIES);
        self.write(&format!(", {}. {answer}\" ", NAMES[other].0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LISTS: [Choices; 17] = [
        NAMES,
        TRAITS,
        TRADES,
        PLACES,
        COLOURS,
        THINGS,
        ANIMALS,
        WEATHER,
        ACTS,
        REPLIES,
        ENDINGS,
        EVENTS,
        ADJECTIVES,
        NOUNS,
        VERBS,
        ADVERBS,
        PREPOSITIONS,
    ];

    /// No choice begins another of its list: what was chosen can be read off the text, so code lengths are
    /// exact.
    #[test]
    fn choices_can_be_told_apart() {
        for list in LISTS {
            for (i, (a, weight)) in list.iter().enumerate() {
                assert!(*weight > 0, "{a} is never chosen");
                for (b, _) in &list[i + 1..] {
                    assert!(!a.starts_with(b) && !b.starts_with(a), "{a:?} and {b:?} begin alike");
                }
            }
        }
        // Scenes, weather, animals and questions begin unlike each other; endings begin like none of them.
        let starts = [
            "This ", "Every ", "That ", "His ", "Her ", "One ", "The ", "Two ", "\"What", "\"Where", "\"Tell",
        ];
        for (ending, _) in ENDINGS {
            assert!(starts.iter().all(|start| !ending.starts_with(start)), "{ending}");
        }
    }

    /// The empirical entropy of the choices agrees with the code length: probabilities are what they are said
    /// to be.
    #[test]
    fn code_length_is_the_entropy() {
        let tales = Tales::generate(7, 2_000_000);
        // First choice of every tale: its name. Cross-entropy of the declared weights against the counts.
        let text = String::from_utf8(tales.text().to_vec()).unwrap();
        let starts: Vec<&str> = text.split("\n\n").collect();
        let starts = &starts[..starts.len() - 1];
        let total: u32 = NAMES.iter().map(|(_, weight)| weight).sum();
        for (name, weight) in NAMES {
            let count = starts.iter().filter(|tale| tale.starts_with(&format!("{name} was"))).count() as f64;
            let p = f64::from(*weight) / f64::from(total);
            let (mean, sd) = (p * starts.len() as f64, (p * (1.0 - p) * starts.len() as f64).sqrt());
            assert!((count - mean).abs() < 5.0 * sd, "{name}: {count} of {}, expected {mean}", starts.len());
        }
        let floor = tales.floor(0..tales.text().len());
        assert!((0.4..0.9).contains(&floor), "{floor} bits per byte");
    }

    #[test]
    fn facts_return_and_quotes_close() {
        let tales = Tales::generate(3, 300_000);
        let text = String::from_utf8(tales.text().to_vec()).unwrap();
        let tales: Vec<&str> = text.split("\n\n").collect();
        for tale in &tales[..tales.len() - 1] {
            assert_eq!(tale.matches('"').count() % 2, 0, "{tale}");
            let (_, rest) = tale.split_once(" had a ").unwrap();
            let colour = rest.split(' ').next().unwrap();
            for answer in tale.split("My ").skip(1) {
                let said = answer.split_once(" is ").unwrap().1;
                assert!(said.starts_with(&format!("{colour}.")), "{tale}");
            }
            assert!(!tale.contains("s that lived") || tale.contains(" were "), "{tale}");
        }
    }

    proptest! {
        #[test]
        fn a_longer_text_begins_with_a_shorter_one(seed: u64, a in 0usize..5000, b in 0usize..5000) {
            let (short, long) = (Tales::generate(seed, a.min(b)), Tales::generate(seed, a.max(b)));
            prop_assert_eq!(short.text(), &long.text()[..a.min(b)]);
            prop_assert_eq!(short.bits(0..a.min(b)), long.bits(0..a.min(b)));
        }

        #[test]
        fn code_lengths_add_up(seed: u64, cut in 0usize..4000) {
            let tales = Tales::generate(seed, 4000);
            let parts = tales.bits(0..cut) + tales.bits(cut..4000);
            prop_assert!((parts - tales.bits(0..4000)).abs() < 1e-9);
        }
    }
}
