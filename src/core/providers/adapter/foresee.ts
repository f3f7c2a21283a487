import { usualUses } from '../../chat/provider-tool.ts';
import type { Units } from '../../chat/usage.ts';
import { getNumber, getObjects, type Json } from './json.ts';
import type { Terms } from './reply.ts';

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
