import type { Units } from '../../chat/reply.ts';
import { getNumber, getObject, getObjects, type Json } from './json.ts';

/** Reads the separately priced tokens from the usage record of any provider. */
export function readTokenUnits(raw: Json): Units {
	const input = { ...getObject(raw, 'input_tokens_details'), ...getObject(raw, 'prompt_tokens_details') };
	const output = { ...getObject(raw, 'output_tokens_details'), ...getObject(raw, 'completion_tokens_details') };
	const cached = { ...getObject(input, 'cached_tokens_details'), ...getObject(raw, 'cached_tokens_details') };
	const inputLists = ['promptTokensDetails', 'toolUsePromptTokensDetails'];
	const [cachedLists, outputLists] = [['cacheTokensDetails'], ['candidatesTokensDetails']];
	return keepCounts({
		input_audio_seconds: getNumber(raw, 'prompt_audio_seconds'),
		cache_write_tokens: getNumber(raw, 'cache_creation_input_tokens') ?? getNumber(input, 'cache_write_tokens'),
		cache_write_1h_tokens: getNumber(getObject(raw, 'cache_creation'), 'ephemeral_1h_input_tokens'),
		input_audio_tokens: getNumber(input, 'audio_tokens') ?? readModality(raw, inputLists, 'AUDIO'),
		input_image_tokens: getNumber(input, 'image_tokens') ?? readModality(raw, inputLists, 'IMAGE'),
		input_video_tokens: readModality(raw, inputLists, 'VIDEO'),
		cached_audio_tokens: getNumber(cached, 'audio_tokens') ?? readModality(raw, cachedLists, 'AUDIO'),
		cached_image_tokens: getNumber(cached, 'image_tokens') ?? readModality(raw, cachedLists, 'IMAGE'),
		output_audio_tokens: getNumber(output, 'audio_tokens') ?? readModality(raw, outputLists, 'AUDIO'),
		output_image_tokens: getNumber(output, 'image_tokens') ?? readModality(raw, outputLists, 'IMAGE'),
		output_video_tokens: readModality(raw, outputLists, 'VIDEO'),
	});
}

/** Returns the counts above zero. */
export function keepCounts(counts: Readonly<Record<string, number | undefined>>): Units {
	const kept: Record<string, number> = {};
	for (const [unit, count = 0] of Object.entries(counts)) if (count > 0) kept[unit] = count;
	return kept;
}

/** Reads Gemini's lists of `{ modality, tokenCount }`. */
function readModality(raw: Json, lists: readonly string[], modality: string): number | undefined {
	const found = lists.flatMap((list) => getObjects(raw, list)).filter((entry) => entry.modality === modality);
	return found.length === 0 ? undefined : found.reduce((sum, entry) => sum + (getNumber(entry, 'tokenCount') ?? 0), 0);
}
