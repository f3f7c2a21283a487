/**
 * Names that a provider moved to another model, which the package genai-prices has at the old price. As of 2026-11-24.
 * Sources: docs.mistral.ai/getting-started/models, mistral.ai/pricing, api-docs.deepseek.com/quick_start/pricing,
 * docs.x.ai/developers/migration/may-15-retirement.
 */
const moves: readonly (readonly [provider: string, names: RegExp, from: string, model: string])[] = [
	['mistral', /^mistral-large-latest$/, '2025-12-02', 'mistral-large-2512'],
	['mistral', /^ministral-3b-latest$/, '2025-12-02', 'ministral-3b-2512'],
	['mistral', /^mistral-small-latest$/, '2026-03-16', 'mistral-small-2603'],
	['mistral', /^mistral-medium$/, '2026-06-16', 'mistral-medium-3.5'],
	['xai', /^grok-(3|4$|4-(0709|latest|fast|1-fast))/, '2026-05-15', 'grok-4.3'],
	['xai', /^grok-code-fast/, '2026-05-15', 'grok-build-0.1'],
	['deepseek', /^deepseek-(chat|reasoner)$/, '2026-04-24', 'deepseek-v4-flash'],
];

/** Returns the model that a name stands for since a provider moved it, or `undefined` if it did not. */
export function findMoved(provider: string, name: string, now: Date): string | undefined {
	const own = name.toLowerCase().trim();
	return moves.find(
		([by, names, from]) => by === provider && names.test(own) && now.getTime() >= Date.parse(from),
	)?.[3];
}
