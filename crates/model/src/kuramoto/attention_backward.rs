//! The backward pass of the synchronization update: from its direction through the coupling to queries, keys,
//! gates and frames. The other stages are in `backward.rs`.

use super::groups::{Means, QueryKey, Values};
use super::{Kuramoto, Pass};
use crate::attention::{Columns, ColumnsMut, Head};
use crate::network::Purpose;
use kuramoto_kernels::{Packed, Real, couple, drift, frame, reduce, tangent, turn};

/// Room for one head's coupling after dropout, and for its gradient (n rows of the attention stride each).
pub(super) struct CouplingScratch<'a, F> {
    pub kept: &'a mut [F],
    pub gradient: &'a mut [F],
}

impl Kuramoto {
    /// Equation (1), v . a; Lemma 2: dupdate, psi, resultant, value gates -> the value section of
    /// dpreactivations (written), dresultant (written), dtheta; without a value gate, its
    /// gradient goes to `unused`
    pub(super) fn direction_backward<F: Real>(
        &self,
        n: usize,
        ones: &[F],
        values: Values<&[F]>,
        resultant: &[F],
        dupdate: &[F],
        dpreactivations: &mut [F],
        dresultant: &mut [F],
        dtheta: &mut [F],
        unused: &mut [F],
    ) {
        if !self.circular() {
            return;
        }
        let (k, psi) = (self.config.width, values.psi);
        let dupdate = &dupdate[..n * k];
        let (value_gate, stride) = self.value_gate_or(ones, values.preactivations);
        let dvalue_gate = match self.slots.sections.value {
            Some(first) => &mut dpreactivations[first..],
            None => unused,
        };
        tangent::backward(k, psi, resultant, value_gate, stride, dupdate, dvalue_gate, dresultant, dtheta);
    }

    /// Table 3, low-rank value transport: dresultant, contracted mean, frames -> dcontracted_mean (written),
    /// the frame section of dpreactivations (written)
    pub(super) fn expand_frames_backward<F: Real>(
        &self,
        n: usize,
        preactivations: &[F],
        contracted_mean: &[F],
        dresultant: &[F],
        dcontracted_mean: &mut [F],
        dpreactivations: &mut [F],
    ) {
        if self.slots.sections.frame.is_none() {
            return;
        }
        let (k, kh, rank) = (self.config.width, self.heads().kh(), self.rank());
        for (t, head) in self.tokens_and_heads(n) {
            let (at, len) = self.frame_at(t, head);
            let dframe = &mut dpreactivations[at..][..len];
            dframe.fill(F::ZERO);
            if !self.transports_values() {
                continue;
            }
            let (dre, dim) = dresultant[t * 2 * k..][..2 * k].split_at(k);
            let (dre, dim) = (&dre[head * kh..][..kh], &dim[head * kh..][..kh]);
            let token = (t * self.config.heads + head) * 2 * rank;
            frame::backward(rank, dre, dim, &contracted_mean[token..][..2 * rank], dframe);
            let dmean = &mut dcontracted_mean[token..][..2 * rank];
            dmean.fill(F::ZERO);
            self.frame(preactivations, t, head).contract(dre, dim, F::ONE, dmean);
        }
    }

    /// Equation (1), A and G: dmeans, phasors, values, coupling -> dphasors (written), dvalues (written: psi,
    /// contracted, or the value section of projected values)
    pub(super) fn attend_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        phasors: QueryKey<&[F]>,
        values: Values<&[F]>,
        coupling: &[F],
        dmeans: Means<&[F]>,
        dphasors: QueryKey<&mut [F]>,
        dvalues: Values<&mut [F]>,
        scratch: CouplingScratch<'_, F>,
        packed: &mut Packed<F>,
    ) {
        let n = pass.tokens.len();
        let (k, heads, sections) = (self.config.width, self.heads(), self.slots.sections);
        let (kh, width, row, m) = (heads.kh(), heads.width(), heads.row(), sections.total);
        let stride = self.attention_stride();
        let attention = Head { n, stride };
        let dropout = pass.dropout.mask(Purpose::Attention, index);
        let CouplingScratch { kept: kept_coupling, gradient: dcoupling } = scratch;
        if !self.circular() {
            dvalues.psi[..n * 2 * k].fill(F::ZERO);
        }
        for head in 0..heads.heads {
            let coupling = &coupling[head * self.context * stride..][..self.context * stride];
            let kept: &[F] = if dropout.is_active() {
                couple::kept(n, coupling, stride, &dropout, kept_coupling);
                kept_coupling
            } else {
                coupling
            };
            if let (false, Some(first)) = (self.circular(), sections.value) {
                let first = first + head * kh;
                let dmean = Columns::new(dmeans.update, k, head * kh, kh);
                let values = Columns::new(values.preactivations, m, first, kh);
                attention.dot(dmean, values, dcoupling, packed, false);
                attention.mix_back(kept, dmean, ColumnsMut::new(dvalues.preactivations, m, first), packed);
            } else {
                for (part, (first, width)) in self.value_columns(head).enumerate() {
                    let dmean = Columns::new(dmeans.resultant, 2 * k, first, width);
                    let values = Columns::new(values.psi, 2 * k, first, width);
                    attention.dot(dmean, values, dcoupling, packed, part > 0);
                    attention.mix_back(kept, dmean, ColumnsMut::new(dvalues.psi, 2 * k, first), packed);
                }
                if self.transports_values() {
                    let (frames, first) = (self.value_frames(), head * heads.extra);
                    let dmean = Columns::new(dmeans.contracted, frames, first, heads.extra);
                    let values = Columns::new(values.contracted, frames, first, heads.extra);
                    attention.dot(dmean, values, dcoupling, packed, true);
                    let dvalues = ColumnsMut::new(dvalues.contracted, frames, first);
                    attention.mix_back(kept, dmean, dvalues, packed);
                }
            }
            couple::backward(n, coupling, stride, &dropout, dcoupling);
            let dscores = &*dcoupling;
            let key = Columns::new(phasors.key, row, head * width, width);
            attention.mix(dscores, key, ColumnsMut::new(dphasors.query, row, head * width), packed);
            let query = Columns::new(phasors.query, row, head * width, width);
            attention.mix_back(dscores, query, ColumnsMut::new(dphasors.key, row, head * width), packed);
        }
    }

    /// With drift in values: dresultant, resultant in each token's own frame -> dresultant of the mean (in
    /// place), the gradient of omega
    pub(super) fn turn_means_back_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        resultant: &[F],
        dresultant: &mut [F],
        turned: &mut [F],
        gradient: &mut [F],
        unused: &mut [F],
    ) {
        if !self.config.drift_in_values {
            return;
        }
        let (k, len) = (self.config.width, pass.tokens.len() * 2 * self.config.width);
        let (dresultant, turned) = (&mut dresultant[..len], &mut turned[..len]);
        let domega = self.domega(index, gradient, unused);
        turn::rate_backward(k, -1.0, &resultant[..len], dresultant, domega);
        let (cos, sin) = pass.tables.drift(index);
        turn::forward(k, dresultant, cos, sin, turned);
        dresultant.copy_from_slice(turned);
    }

    /// With drift in values: dpsi of the turned values, turned -> dpsi (in place), the gradient of omega
    pub(super) fn turn_values_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        turned: &[F],
        dpsi: &mut [F],
        gradient: &mut [F],
        unused: &mut [F],
    ) {
        if !self.config.drift_in_values {
            return;
        }
        let (k, len) = (self.config.width, pass.tokens.len() * 2 * self.config.width);
        let dpsi = &mut dpsi[..len];
        turn::rate_backward(k, 1.0, &turned[..len], dpsi, self.domega(index, gradient, unused));
        let (cos, sin) = pass.tables.drift(index);
        turn::back(k, dpsi, cos, sin);
    }

    /// Equation (1), the factors of the score; Section 3.5: dphasors, psi, gates -> dgates (written), dtheta,
    /// the gradients of omega and tau; `dscale` is the transport frame's share of the score scale's gradient
    pub(super) fn phasors_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        psi: &[F],
        gates: QueryKey<&[F]>,
        dphasors: QueryKey<&[F]>,
        mut dscale: f64,
        dgates: QueryKey<&mut [F]>,
        dtheta: &mut [F],
        gradient: &mut [F],
        unused: &mut [F],
    ) {
        let (heads, len) = (self.heads(), pass.tokens.len() * self.heads().row());
        let (dquery, dkey) = (&dphasors.query[..len], &dphasors.key[..len]);
        let QueryKey { query, key } = gates;
        let QueryKey { query: dquery_gate, key: dkey_gate } = dgates;
        let (cos, sin) = pass.tables.drift(index);
        let (c, domega) = (self.score_scale(pass.parameters), self.domega(index, gradient, unused));
        dscale += drift::backward(
            heads,
            0,
            psi,
            query,
            key,
            cos,
            sin,
            c,
            dquery,
            dkey,
            dquery_gate,
            dkey_gate,
            dtheta,
            domega,
        );
        gradient[self.slots.tau.start] += F::from_f64(dscale / self.root_of_head());
    }

    /// Table 3, low-rank value transport: dquery, dkey after each head's phasors, the key's
    /// phasors, frames -> dkey of the phasors, the frame section of dpreactivations; returns the
    /// gradient of the score's scale
    pub(super) fn contract_phasors_backward<F: Real>(
        &self,
        n: usize,
        scale: F,
        preactivations: &[F],
        key: &[F],
        dquery: &[F],
        dkey: &mut [F],
        dpreactivations: &mut [F],
    ) -> f64 {
        let mut dscale = 0.0;
        if self.slots.sections.frame.is_none() {
            return dscale;
        }
        let (heads, rank) = (self.heads(), self.rank());
        let (kh, width) = (heads.kh(), heads.width());
        for (t, head) in self.tokens_and_heads(n) {
            let (at, len) = self.frame_at(t, head);
            let row = t * heads.row() + head * width;
            let (z, contracted) = key[row..][..width].split_at(2 * kh);
            let (dz, dcontracted) = dkey[row..][..width].split_at_mut(2 * kh);
            let by_query = &dquery[row + 2 * kh..][..2 * rank];
            dscale += reduce::inner_product(by_query, contracted).to_f64();
            for (dcontracted, &by_query) in dcontracted.iter_mut().zip(by_query) {
                *dcontracted += scale * by_query;
            }
            frame::backward(rank, &z[..kh], &z[kh..], dcontracted, &mut dpreactivations[at..][..len]);
            let (dre, dim) = dz.split_at_mut(kh);
            self.frame(preactivations, t, head).expand(dcontracted, dre, dim);
        }
        dscale
    }

    /// Table 3, low-rank value transport: dcontracted_values, psi, frames -> the frame section of
    /// dpreactivations, dpsi
    pub(super) fn contract_values_backward<F: Real>(
        &self,
        n: usize,
        psi: &[F],
        preactivations: &[F],
        dcontracted_values: &[F],
        dpreactivations: &mut [F],
        dpsi: &mut [F],
    ) {
        if !self.transports_values() {
            return;
        }
        let (k, kh, rank) = (self.config.width, self.heads().kh(), self.rank());
        for (t, head) in self.tokens_and_heads(n) {
            let (at, len) = self.frame_at(t, head);
            let dcontracted = &dcontracted_values[(t * self.config.heads + head) * 2 * rank..][..2 * rank];
            let (cos, sin) = psi[t * 2 * k..][..2 * k].split_at(k);
            let (cos, sin) = (&cos[head * kh..][..kh], &sin[head * kh..][..kh]);
            frame::backward(rank, cos, sin, dcontracted, &mut dpreactivations[at..][..len]);
            let (dcos, dsin) = dpsi[t * 2 * k..][..2 * k].split_at_mut(k);
            let (dcos, dsin) = (&mut dcos[head * kh..][..kh], &mut dsin[head * kh..][..kh]);
            self.frame(preactivations, t, head).expand(dcontracted, dcos, dsin);
        }
    }
}
