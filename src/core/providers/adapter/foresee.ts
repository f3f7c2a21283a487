import type { AskedCall, MostCost } from '../../chat/index.ts';
import type { ProviderChoices } from '../../chat/provider-tool.ts';
import { usualUses } from '../../chat/provider-tool.ts';
import type { Units } from '../../chat/usage.ts';
import type { Adapter } from './adapter.ts';
import { getNumber, getObjects, type Json } from './json.ts';
import type { Prices } from './price.ts';
import type { Terms } from './reply.ts';
import { keepCounts } from './units.ts';

/** What a request may bill besides the tokens that it sends and the reply. */
export interface Foreseen extends Terms {
	/** The most units, by name. */
	readonly units?: Units;
	/** How often the provider's own tools may be used. Each use lets the model read everything again. */
	readonly uses?: number;
	/** How many more texts the model may write, each as long as the reply. */
	readonly texts?: number;
}

/** The tokens that a use of a provider's tool may add to the input: a page of search results, a fetched page. */
const tokensOfUse = 10_000;

/** Returns the most tokens of input: each use of a tool reads the input again, and all that the uses before it added. */
export function countMostInput(inputTokens: number, uses: number): number {
	return inputTokens * (uses + 1) + (tokensOfUse * uses * (uses + 1)) / 2;
}

/** Returns the tools of a body, by their types. */
export function listToolTypes(body: Json): readonly { readonly type: string; readonly tool: Json }[] {
	return getObjects(body, 'tools').flatMap((tool) =>
		typeof tool.type === 'string' ? [{ type: tool.type, tool }] : [],
	);
}

/** Returns the uses that a tool is limited to. */
export function readUses(tool: Json): number {
	return getNumber(tool, 'max_uses') ?? usualUses;
}

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
