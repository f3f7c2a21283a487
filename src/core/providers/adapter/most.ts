import type { AskedCall, MostCost } from '../../chat/index.ts';
import type { ProviderChoices } from '../../chat/provider-tool.ts';
import type { Adapter } from './adapter.ts';
import { countMostInput } from './foresee.ts';
import type { Json } from './json.ts';
import type { Prices } from './price.ts';
import { keepCounts } from './units.ts';

/** Creates the function that returns the most that a call of a model may cost. */
export function createMost(
	{ foresee, meta }: Pick<Adapter, 'foresee' | 'meta'>,
	prices: Prices,
	toFields: (choices: ProviderChoices) => Json,
): (model: string, asked: AskedCall) => MostCost {
	return (model, asked) => {
		const { inputTokens: sent, outputTokens } = asked;
		const { uses = 0, texts = 0, units = {}, ...terms } = foresee?.(toFields(asked), model, asked) ?? {};
		const inputTokens = countMostInput(sent, uses);
		const written = outputTokens * (1 + texts);
		// Each use of a tool has the model hear everything again.
		const heard = meta.audio === false ? 0 : (asked.inputAudioTokens ?? 0) * (uses + 1);
		const counts = keepCounts({ ...units, input_audio_tokens: heard });
		const price = prices.findMost(model, { ...terms, inputTokens, outputTokens: written, units: counts });
		const pieces = Object.entries(units).filter(([unit, count]) => (count ?? 0) > 0 && !unit.endsWith('_tokens'));
		const bare = { ...terms, inputTokens: 0, outputTokens: 0, units: Object.fromEntries(pieces) };
		const ofPieces: MostCost = { inputTokens, ...(pieces.length > 0 && prices.findMost(model, bare)) };
		return { inputTokens, ...(texts > 0 && { texts }), unitsUsd: ofPieces.usd, ...price };
	};
}
