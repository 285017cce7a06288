//! What a model expects next.

/// Probabilities of all tokens, from the logits of one position.
pub fn probabilities(logits: &[f32]) -> Vec<f64> {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f64> = logits.iter().map(|&x| f64::from(x - highest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Tokens and their probabilities, likeliest first.
pub fn likeliest(probabilities: &[f64]) -> Vec<(usize, f64)> {
    let mut all: Vec<(usize, f64)> = probabilities.iter().copied().enumerate().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one_and_the_likeliest_comes_first() {
        let found = likeliest(&probabilities(&[1.0, 1000.0, 999.0]));
        assert!((found.iter().map(|pair| pair.1).sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(found.iter().map(|pair| pair.0).collect::<Vec<_>>(), [1, 2, 0]);
        assert!((found[0].1 - 1.0 / (1.0 + (-1f64).exp())).abs() < 1e-12);
    }
}
