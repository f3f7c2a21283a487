import * as v from 'valibot';
import { check } from '../../../core/base/check.ts';
import { blameCaller, RunletError } from '../../../core/base/errors.ts';
import { assertPublicUrl } from '../../../core/base/public-fetch.ts';
import { redactSecrets } from '../../../core/base/text.ts';
import { define, type Tool, type ToolContext } from '../../../core/tool/index.ts';
import { noteNeeds } from '../tool-needs.ts';
import { assertHeaders, listSecretNames } from '../user-tools/headers.ts';
import { createAsk } from './ask.ts';
import { RemoteCalls, taskInput } from './calls.ts';
import { createCardReader } from './card.ts';
import { createRemote, type Remote } from './remote.ts';

export interface A2aToolOptions {
	/** The name of the tool. */
	readonly name: string;
	/** Tells the model when to call the tool. The model never reads the agent's own card. */
	readonly description: string;
	/** Headers of each request, for the origin of the agent only. `${NAME}` in a value is a variable of the Worker. */
	readonly headers?: Readonly<Record<string, string>>;
	/** The origin of the agent, such as `https://api.example.com`. By default that of its card; no other one is asked. */
	readonly origin?: string;
	/** Whether a person has to allow a call first. */
	readonly needsApproval?: Tool['needsApproval'];
	/** Whether its answers have data of the owner or of the user. No by default (docs/untrusted-text.md). */
	readonly private?: boolean;
	/** Milliseconds for a task, without the time in which it waits for a person. 600,000 by default. */
	readonly timeoutMs?: number;
}

const origin = v.pipe(
	v.string(),
	v.check(
		(text) => URL.canParse(text) && new URL(text).origin === text,
		'expected an origin, such as https://api.example.com',
	),
);
const optionsSchema = v.strictObject({
	name: v.pipe(v.string(), v.nonEmpty()),
	description: v.pipe(v.string(), v.nonEmpty()),
	headers: v.optional(v.record(v.string(), v.string('must be a text')), {}),
	origin: v.optional(origin),
	needsApproval: v.optional(v.custom<Tool['needsApproval']>((given) => /^(boolean|function)$/.test(typeof given))),
	private: v.optional(v.boolean(), false),
	timeoutMs: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 600_000),
});

/**
 * Makes a tool whose calls are tasks of an agent at another server, by A2A 1.x (docs/a2a.md, "Call another agent"). The
 * card is read at the first call. The result of a call is the agent's answer. Throws `invalid_tool`, which names the field.
 *
 * @param url the address of the agent's card
 */
export function a2aTool(url: string, options: A2aToolOptions): Tool {
	return blameCaller(a2aTool, () => {
		const checked = check(optionsSchema, options, 'a2aTool', 'invalid_tool');
		const { name, description, headers, timeoutMs, needsApproval } = checked;
		assertReachable(url, headers);
		const { origin = new URL(url).origin } = checked;
		const readCard = createCardReader(url, origin);
		const connect = async (context: ToolContext): Promise<Remote> => {
			const ask = createAsk({ name, headers, origin }, context);
			return createRemote(name, await readCard(ask, context.signal), ask);
		};
		const calls = new RemoteCalls(name, timeoutMs, connect);
		const fn = (input: v.InferOutput<typeof taskInput>, context: ToolContext) => calls.begin(input, context);
		noteNeeds(fn, { url, variables: listSecretNames(headers) });
		return define({
			...{ name, description, inputSchema: taskInput, timeoutMs },
			passInput: true,
			// A retry reads the task of the first attempt, or sends the same message.
			retry: 'safe',
			reads: checked.private ? ['outside', 'private'] : 'outside',
			writes: 'outside',
			targets: () => [origin],
			...(needsApproval !== undefined && { needsApproval }),
			onRequest: () => ['Asking', origin],
			fn,
			onAnswer: (answer, about, context) => calls.answer(answer, about, context),
		});
	});
}

/** Throws `invalid_tool` for a forbidden URL or header, and for a secret in the code. */
function assertReachable(url: string, headers: Readonly<Record<string, string>>): void {
	try {
		assertPublicUrl(url, { allowLoopback: true });
		assertHeaders(headers, [...listSecretNames(headers)]);
	} catch (error) {
		if (!(error instanceof RunletError)) throw error;
		throw new RunletError('invalid_tool', error.message, error.data);
	}
	const written = JSON.stringify(headers);
	if (redactSecrets(written) === written) return;
	const message = `headers: it has what looks like a key. Put it into a variable, and write \${NAME}.`;
	throw new RunletError('invalid_tool', message, { field: 'headers' });
}
