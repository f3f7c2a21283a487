import {
	getNumber,
	getObject,
	getObjects,
	getString,
	type Json,
} from '../../../../../src/core/providers/adapter/json.ts';
import { type Api, countSince, say } from './api.ts';

/** The most queries of a reply. Nothing limits them, and a model makes a few. */
const mostQueries = 5;

/** Google's `generateContent`. */
export const gemini: Api = {
	readOffer: (body) => {
		const tools = getObjects(body, 'tools');
		const has = (name: string): boolean => tools.some((tool) => tool[name] !== undefined);
		return {
			tools: tools
				.flatMap((tool) => getObjects(tool, 'functionDeclarations'))
				.map((one) => getString(one, 'name') ?? ''),
			uses: {
				web_search: has('google_search') ? mostQueries : 0,
				web_fetch: 0,
				code_execution: has('code_execution') ? 1 : 0,
			},
			depth: countSince(getObjects(body, 'contents'), ({ role, parts }) => {
				return role === 'user' && JSON.stringify(parts)?.includes('"functionResponse"') === false;
			}),
		};
	},
	readMost: (body) => getNumber(getObject(body, 'generationConfig'), 'maxOutputTokens'),
	readTerms: (body) => [getString(body, 'serviceTier')].filter((one) => one !== undefined),
	readCache: () => 'none',
	unitOf: ({ kind }, model): Readonly<Record<string, number>> => {
		if (kind !== 'web_search') return {};
		return model.startsWith('gemini-3') ? { web_searches: 1 } : { searched_prompts: 1 };
	},
	begin: () => [toChunk({ text: '' })],
	use: ({ kind }) =>
		kind === 'code_execution'
			? [
					toChunk({ executableCode: { code: '1', language: 'PYTHON' } }),
					toChunk({ codeExecutionResult: { output: '1' } }),
				]
			: [],
	thought: (text) => [toChunk({ text, thought: true })],
	text: (text) => [toChunk({ text })],
	call: ({ id, name, input }) => [toChunk({ functionCall: { id, name, args: input } })],
	end: ({ model, plan, isFull, terms, tally }) => {
		const { input, cached, audio, output } = tally;
		const thoughts = Math.min(plan.thinking, output);
		const usageMetadata = say(plan, {
			promptTokenCount: input,
			cachedContentTokenCount: cached,
			candidatesTokenCount: output - thoughts,
			thoughtsTokenCount: thoughts,
			totalTokenCount: input + output,
			promptTokensDetails: [
				{ modality: 'TEXT', tokenCount: input - audio },
				{ modality: 'AUDIO', tokenCount: audio },
			],
		});
		const queries = plan.uses.flatMap(({ kind }, n) => (kind === 'web_search' ? [`q${n}`] : []));
		const candidate = {
			...{ content: { role: 'model', parts: [] }, index: 0, finishReason: isFull ? 'MAX_TOKENS' : 'STOP' },
			...(queries.length > 0 && { groundingMetadata: { webSearchQueries: queries } }),
		};
		const tier = terms[0] && { serviceTier: terms[0] };
		const usage = usageMetadata && { usageMetadata: { ...usageMetadata, ...tier } };
		return [{ candidates: [candidate], modelVersion: model, responseId: 'r', ...usage }];
	},
	error: { error: { code: 503, status: 'UNAVAILABLE', message: 'Overloaded' } },
};

function toChunk(part: Json): Json {
	return { candidates: [{ content: { role: 'model', parts: [part] }, index: 0 }] };
}
