import { isRecord } from '../../../base/json.ts';
import type { StopReason } from '../../../chat/index.ts';
import type { ReplyReader } from '../../adapter/adapter.ts';
import { ProviderComplaint } from '../../adapter/failure.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import type { ReplyBuilder } from '../../adapter/reply.ts';
import { createCallReader, gatherPieces, mergeObjects } from './pieces.ts';

/**
 * Reads Chat Completions of any server, streamed or whole. Reads only the first choice. The reply is complete
 * after a finish reason or `[DONE]`; usage may follow. Throws `ProviderComplaint` for an error in any place.
 */
export class ChatReader implements ReplyReader {
	readonly #reply: ReplyBuilder;
	readonly #calls: ReturnType<typeof createCallReader>;
	readonly #thinking: string[] = [];
	readonly #details: Json[] = [];
	/** The parts of the content. A plain text is a string. */
	readonly #content: (Json | string)[] = [];
	/** The indices of the tools that the endpoint ran. */
	readonly #tools = new Set<number>();
	#extra: Json | undefined;
	#refused = false;
	/** The form of the message, known after the first choice was read. */
	#form: 'pieces' | 'whole' | undefined;
	#finish: string | undefined;
	#id: unknown;
	#model: unknown;

	constructor(reply: ReplyBuilder) {
		this.#reply = reply;
		this.#calls = createCallReader(reply);
	}

	event(event: Json): void {
		this.#readHead(event);
		this.#readChoice(event, 'delta');
	}

	body(body: Json): void {
		this.#readHead(body);
		this.#readChoice(body, 'message');
		if (this.#form !== undefined) this.#end(true);
		else throw new ProviderComplaint({ body });
	}

	end(how: 'eof' | 'done'): void {
		if (this.#finish !== undefined || (how === 'done' && this.#form !== undefined)) this.#end(false);
	}

	#readHead(from: Json): void {
		this.#id ??= from.id;
		this.#model ??= from.model;
		this.#reply.setModel(getString(from, 'model'));
		const usage = findUsage(from);
		if (usage !== undefined) this.#reply.usage(usage);
		const tier = getString(from, 'service_tier') ?? getString(getObject(from, 'x_groq'), 'service_tier');
		if (tier !== undefined && !usualTiers.has(tier)) this.#reply.bill({ serviceTier: tier });
		// Models with these names search once in each request.
		if (/search-(preview|api)/.test(`${this.#model}`)) this.#reply.count('searched_requests', 1);
		const complaint = findComplaint(from);
		if (complaint !== undefined) throw new ProviderComplaint({ body: complaint });
	}

	#readPart(part: Json): void {
		this.#content.push(part);
		const thoughts = getObjects(part, 'thinking').map((thought) => getString(thought, 'text') ?? '');
		if (part.type === 'thinking') this.#reply.reasoning(getString(part, 'thinking') ?? thoughts.join(''));
		else this.#reply.text(getString(part, 'text') ?? '');
	}

	/** Reads a message or a piece of a message. */
	#readMessage(message: Json, isWhole: boolean): void {
		const thought = getString(message, 'reasoning_content');
		if (thought) this.#thinking.push(thought);
		this.#reply.reasoning(thought || getString(message, 'reasoning') || '');
		if (Array.isArray(message.reasoning_details)) this.#details.push(...getObjects(message, 'reasoning_details'));
		if (typeof message.content === 'string') {
			this.#content.push(message.content);
			this.#reply.text(message.content);
		} else for (const part of getObjects(message, 'content')) this.#readPart(part);
		this.#readTools(getObjects(message, 'executed_tools'));
		for (const annotation of getObjects(message, 'annotations')) {
			const cited = getObject(annotation, 'url_citation');
			const url = getString(cited, 'url');
			if (url !== undefined) this.#reply.source({ url, title: getString(cited, 'title') });
		}
		const refusal = getString(message, 'refusal');
		if (refusal) {
			this.#refused = true;
			this.#reply.text(refusal);
		}
		if (isRecord(message.extra_content)) this.#extra = mergeObjects(this.#extra ?? {}, message.extra_content);
		if (Array.isArray(message.tool_calls)) {
			const calls = getObjects(message, 'tool_calls');
			this.#calls.take(isWhole ? calls.map((call, index) => ({ ...call, index })) : calls);
		}
		if (isRecord(message.function_call)) this.#calls.take([{ function: message.function_call, index: -1 }]);
	}

	/** Reads the tools that the endpoint ran. A later piece of a stream may have the output of the same tool. */
	#readTools(tools: readonly Json[]): void {
		for (const [at, { index, type, arguments: input, output }] of tools.entries()) {
			const number = typeof index === 'number' ? index : at;
			this.#tools.add(number);
			this.#reply.providerCall({ id: `executed_${number + 1}`, name: `${type}`, input, output });
		}
		this.#reply.count('executed_tools', this.#tools.size);
	}

	#readChoice(from: Json, key: 'delta' | 'message'): void {
		const choice = getObjects(from, 'choices').find((entry) => (getNumber(entry, 'index') ?? 0) === 0);
		if (choice === undefined) return;
		this.#finish = getString(choice, 'finish_reason') || this.#finish;
		// A server may send a whole message instead of a piece, or the reverse. A whole message after pieces repeats them.
		const other = this.#form === 'pieces' ? {} : getObject(choice, key === 'delta' ? 'message' : 'delta');
		const message = isRecord(choice[key]) ? choice[key] : other;
		this.#form = isRecord(choice.delta) ? 'pieces' : (this.#form ?? 'whole');
		this.#readMessage(message, key === 'message');
		if (this.#finish !== undefined && failures.has(this.#finish))
			throw new ProviderComplaint({ body: toFailedBody(this.#finish, choice) });
	}

	#end(isWhole: boolean): void {
		this.#calls.end();
		const reason = toStopReason(this.#finish ?? 'stop');
		const ofCalls = this.#calls.metadata();
		const metadata = {
			...(this.#thinking.length > 0 && { reasoning_content: this.#thinking.join('') }),
			...(this.#details.length > 0 && { reasoning_details: isWhole ? this.#details : gatherPieces(this.#details) }),
			...(this.#content.some(isThinking) && {
				content: gatherPieces(
					this.#content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
				),
			}),
			...(this.#extra !== undefined && { extra_content: this.#extra }),
			...(Object.keys(ofCalls).length > 0 && { calls: ofCalls }),
		};
		this.#reply.finish({
			reason:
				this.#refused && reason !== 'tool_use'
					? 'refusal'
					: reason === 'tool_use' && this.#calls.isEmpty()
						? 'end_turn'
						: reason,
			raw: { id: this.#id, model: this.#model, finish_reason: this.#finish },
			metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
		});
	}
}

function isThinking(part: Json | string): boolean {
	return typeof part !== 'string' && part.type === 'thinking';
}

/** The tiers with the usual price. */
const usualTiers: ReadonlySet<string> = new Set(['default', 'auto', 'standard', 'on_demand', 'performance']);

/** Finds the usage record. Moves cache counts to the fields that the prices read. */
function findUsage(from: Json): Json | undefined {
	const usage = [from.usage, getObject(from, 'x_groq').usage, getObjects(from, 'choices')[0]?.usage].find(isFilled);
	if (!isFilled(usage) || getNumber(usage, 'prompt_tokens') === undefined) return usage;
	// LiteLLM also sends Anthropic's counts, which OpenAI's counts already include.
	const { cache_read_input_tokens: read, cache_creation_input_tokens: written, ...counts } = usage;
	const details = getObject(usage, 'prompt_tokens_details');
	const cached = usage.prompt_cache_hit_tokens ?? usage.num_cached_tokens ?? usage.cached_tokens ?? read;
	const known = Object.entries({
		...details,
		cached_tokens: details.cached_tokens ?? cached,
		cache_write_tokens: details.cache_write_tokens ?? written,
	}).filter(([, value]) => value !== undefined && value !== null);
	return known.length === 0 ? counts : { ...counts, prompt_tokens_details: Object.fromEntries(known) };
}

function isFilled(usage: unknown): usage is Json {
	return isRecord(usage) && Object.keys(usage).length > 0;
}

/** Finds an error in a message with a success status. */
function findComplaint(from: Json): Json | undefined {
	const [choice] = getObjects(from, 'choices');
	if (isRecord(choice?.error)) return { error: choice.error };
	if (isRecord(from.error) || (typeof from.error === 'string' && from.error !== '')) return from;
	const bare = choice === undefined && typeof from.message === 'string';
	return bare && (from.object === 'error' || from.type !== undefined || from.code !== undefined) ? from : undefined;
}

/** The finish reasons of a model that did not finish. */
const failures: ReadonlySet<string> = new Set(['error', 'insufficient_system_resource', 'network_error']);

function toFailedBody(finish: string, choice: Json): Json {
	const native = getString(choice, 'native_finish_reason');
	const message = `the model broke off${native === undefined ? '' : ` (${native})`}: ${finish}`;
	return { error: { message, ...(finish === 'insufficient_system_resource' && { code: 'overloaded' }) } };
}

const reasons: Readonly<Record<string, StopReason>> = {
	stop: 'end_turn',
	eos: 'end_turn',
	eos_token: 'end_turn',
	length: 'max_tokens',
	model_length: 'max_tokens',
	tool_calls: 'tool_use',
	function_call: 'tool_use',
	content_filter: 'refusal',
	sensitive: 'refusal',
};

function toStopReason(finish: string): StopReason {
	return Object.hasOwn(reasons, finish) ? (reasons[finish] ?? finish) : finish;
}
