/**
 * Prices that the package genai-prices lacks, in US dollars, as of 2026-11-24. Sources:
 * platform.claude.com/docs/en/about-claude/pricing, …/build-with-claude/fast-mode and …/data-residency;
 * developers.openai.com/api/docs/pricing and openai.com/api-fast-mode; ai.google.dev/gemini-api/docs/pricing;
 * docs.x.ai/developers/pricing and …/migration/may-15-retirement; console.groq.com/docs/flex-processing;
 * mistral.ai/pricing and docs.mistral.ai/getting-started/models; api-docs.deepseek.com/quick_start/pricing.
 */

/** The price of one unit. The first matching entry counts. */
const units: readonly (readonly [provider: string, unit: string, model: RegExp, usd: number])[] = [
	// Free: only the tokens of the results are billed.
	['anthropic', 'web_fetches', /^/, 0],
	['anthropic', 'tool_searches', /^/, 0],
	['anthropic', 'container_minutes', /^/, 0.05 / 60],
	// For models without reasoning, the price of a preview search includes the tokens of the search results.
	['openai', 'preview_searches', /^(gpt-4o|gpt-4\.1)/, 0.025],
	['openai', 'preview_searches', /^/, 0.01],
	['openai', 'web_searches', /^/, 0.01],
	['openai', 'searched_requests', /^gpt-5/, 0.01],
	['openai', 'searched_requests', /^/, 0.025],
	['openai', 'file_searches', /^/, 0.0025],
	// The price of a container session of 20 minutes, by the container's memory.
	['openai', 'containers', /^/, 0.03],
	['openai', 'containers_4g', /^/, 0.12],
	['openai', 'containers_16g', /^/, 0.48],
	['openai', 'containers_64g', /^/, 1.92],
	// Images cost nothing extra: the tokens of the image model are billed.
	['openai', 'generated_images', /^/, 0],
	// The price of the most expensive image, one that is made from another image. Used only for reservations.
	['openai', 'image_generation', /^/, 0.35],
	// Models from Gemini 3 on are billed per query. Older models are billed per grounded prompt.
	['gemini', 'web_searches', /^(models\/)?gemini-[3-9]/, 0.014],
	['gemini', 'searched_prompts', /^/, 0.035],
	['gemini', 'maps_queries', /^(models\/)?gemini-[3-9]/, 0.014],
	['gemini', 'maps_prompts', /^/, 0.025],
	['xai', 'web_searches', /^/, 0.005],
	['xai', 'x_searches', /^/, 0.005],
	['xai', 'code_executions', /^/, 0.005],
	['xai', 'file_searches', /^/, 0.0025],
	['xai', 'document_searches', /^/, 0.01],
	['mistral', 'input_audio_seconds', /voxtral-mini/, 0.001 / 60],
	['mistral', 'input_audio_seconds', /voxtral-small/, 0.004 / 60],
];

/** Rates for a million tokens. */
const rates: readonly (readonly [provider: string, model: RegExp, kind: string, usd: number])[] = [
	['openai', /^gpt-4o-audio-preview-2024-10-01/, 'input_audio', 100],
	['openai', /^gpt-4o-audio-preview-2024-10-01/, 'output_audio', 200],
	['openai', /^gpt-4o-audio-preview/, 'input_audio', 40],
	['openai', /^gpt-4o-audio-preview/, 'output_audio', 80],
	['openai', /^gpt-4o-mini-audio/, 'input_audio', 10],
	['openai', /^gpt-4o-mini-audio/, 'output_audio', 20],
];

/** A tier's rates for a million tokens, if they differ from the standard rates times the tier's factor. */
const tierRates: readonly (readonly [provider: string, tier: string, model: RegExp, kind: string, usd: number])[] = [
	['openai', 'flex', /^o4-mini/, 'read', 0.138],
];

/** The factors for the price of all tokens. `undefined`: not sold for this model. The first match counts. */
const factors: readonly (readonly [
	provider: string,
	field: Field,
	value: string,
	model: RegExp,
	factor: number | undefined,
])[] = [
	['anthropic', 'region', 'us', /-(4-[6-9]|[5-9])\b/, 1.1],
	['anthropic', 'region', 'us', /^/, 1],
	['anthropic', 'speed', 'fast', /opus-4-[67]\b/, 6],
	['anthropic', 'speed', 'fast', /opus-(4-8|5)\b|fable-5-2\b/, 2],
	['anthropic', 'serviceTier', 'batch', /^/, 0.5],
	['openai', 'serviceTier', 'flex', /codex|gpt-6\.2|chat-latest/, undefined],
	['openai', 'serviceTier', 'flex', /^(o3$|o3-2|o4-mini|gpt-[5-9])/, 0.5],
	['openai', 'serviceTier', 'batch', /^/, 0.5],
	['openai', 'serviceTier', 'priority', /-pro\b|nano|^o1|^o3-mini/, undefined],
	['openai', 'serviceTier', 'priority', /^gpt-5-mini/, 1.8],
	['openai', 'serviceTier', 'priority', /^gpt-5\.5/, 2.5],
	['openai', 'serviceTier', 'priority', /^gpt-[56]/, 2],
	['openai', 'serviceTier', 'priority', /^(gpt-4\.1|o3)/, 1.75],
	['openai', 'serviceTier', 'priority', /^gpt-4o-2024-05-13/, 1.75],
	['openai', 'serviceTier', 'priority', /^gpt-4o-mini/, 5 / 3],
	['openai', 'serviceTier', 'priority', /^gpt-4o/, 1.7],
	['openai', 'serviceTier', 'priority', /^o4-mini/, 20 / 11],
	// From gpt-5.4 on, models cost more at regional hosts.
	['openai', 'region', 'regional', /^(gpt-5\.[4-9]|gpt-[6-9])/, 1.1],
	['openai', 'region', 'regional', /^/, 1],
	['gemini', 'serviceTier', 'flex', /^/, 0.5],
	['gemini', 'serviceTier', 'batch', /^/, 0.5],
	['gemini', 'serviceTier', 'priority', /^/, 1.8],
	['groq', 'serviceTier', 'flex', /^/, 1],
];

type Field = 'serviceTier' | 'speed' | 'region';

const freeModels: readonly (readonly [provider: string, model: RegExp])[] = [
	['gemini', /^(models\/)?gemma-/],
	['mistral', /:free$/],
	['openai', /^(omni|text)-moderation-/],
];

export function isFree(provider: string, model: string): boolean {
	return freeModels.some(([by, models]) => by === provider && models.test(model));
}

export function findUnitPrice(provider: string, model: string, unit: string): number | undefined {
	return units.find(([by, of, models]) => by === provider && of === unit && models.test(model))?.[3];
}

/** Returns the price of a million tokens of one kind, such as `input_audio`. */
export function findTokenPrice(provider: string, model: string, kind: string): number | undefined {
	return rates.find(([by, models, of]) => by === provider && of === kind && models.test(model))?.[3];
}

export function findTierRates(provider: string, model: string, tier: string): readonly (readonly [string, number])[] {
	return tierRates.flatMap(([by, of, models, kind, usd]) =>
		by === provider && of === tier && models.test(model) ? [[kind, usd] as const] : [],
	);
}

export function findFactor(provider: string, model: string, field: Field, value: string): number | undefined {
	return factors.find(
		([by, of, is, models]) => by === provider && of === field && is === value && models.test(model),
	)?.[4];
}

/** Model names that a provider has redirected to another model, but that genai-prices lists at the old price. */
const moves: readonly (readonly [provider: string, names: RegExp, from: string, model: string])[] = [
	['mistral', /^mistral-large-latest$/, '2025-12-02', 'mistral-large-2512'],
	['mistral', /^ministral-3b-latest$/, '2025-12-02', 'ministral-3b-2512'],
	['mistral', /^mistral-small-latest$/, '2026-03-16', 'mistral-small-2603'],
	['mistral', /^mistral-medium$/, '2026-06-16', 'mistral-medium-3.5'],
	['xai', /^grok-(3|4$|4-(0709|latest|fast|1-fast))/, '2026-05-15', 'grok-4.3'],
	['xai', /^grok-code-fast/, '2026-05-15', 'grok-build-0.1'],
	['deepseek', /^deepseek-(chat|reasoner)$/, '2026-04-24', 'deepseek-v4-flash'],
];

/** Returns the model to which a redirected name refers now. */
export function findMoved(provider: string, name: string, now: Date): string | undefined {
	const own = name.toLowerCase().trim();
	return moves.find(
		([by, names, from]) => by === provider && names.test(own) && now.getTime() >= Date.parse(from),
	)?.[3];
}
