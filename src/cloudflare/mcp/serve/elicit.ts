import type { InputRequest, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import * as v from 'valibot';
import { showSigns } from '../../../core/base/text.ts';
import type { FlowSource, WaitingCall } from '../../../core/chat/index.ts';
import type { OutsideAnswer, WaitsFor } from '../../objects/outside-call.ts';
import { inputRequired, inputResponse } from './sdk.ts';

export interface ClientQuestion extends Pick<WaitingCall, 'flow' | 'preview'> {
	readonly for: WaitsFor;
	readonly tool: string;
	readonly input: unknown;
	readonly question?: string;
	readonly options?: Readonly<Record<string, unknown>>;
}

/** Whether the client can show a form to a person (revision 2026-07-28). */
export function canElicit({ mcpReq }: ServerContext): boolean {
	const declared = v.safeParse(capabilities, mcpReq.envelope);
	const { elicitation } = declared.success ? (declared.output[capabilitiesKey] ?? {}) : {};
	return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const anything = v.optional(v.unknown());
const capabilities = v.object({
	[capabilitiesKey]: v.optional(v.object({ elicitation: v.optional(v.object({ form: anything, url: anything })) })),
});

/** Asks the client for the missing answers. The client repeats its request with the answers and the state. */
export function askClient(
	questions: Readonly<Record<string, ClientQuestion>>,
	requestState: string,
): InputRequiredResult {
	const requests = Object.entries(questions).map(([key, one]): [string, InputRequest] => [key, toInputRequest(one)]);
	return inputRequired({ inputRequests: Object.fromEntries(requests), requestState });
}

const form = v.object({
	kind: v.literal('form'),
	/** The client's own name for the form. */
	name: v.optional(v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/))),
	schema: v.looseObject({ properties: v.record(v.string(), v.looseObject({ type: v.string() })) }),
});
const link = v.object({ kind: v.literal('url'), url: v.pipe(v.string(), v.url()) });

function toInputRequest(entry: ClientQuestion): InputRequest {
	const { question, options } = entry;
	if (entry.for === 'approval') {
		const approve = { type: 'boolean' as const, title: 'Allow', description: 'Whether the call may run' };
		return elicit(`${describeCall(entry)}\nAllow this call?`, { approve }, ['approve']);
	}
	if (entry.for === 'result') {
		const result = { type: 'string' as const, title: 'Result', description: 'What came of it' };
		return elicit(`${describeCall(entry)}\nSomebody has to do this by hand. What came of it?`, { result }, ['result']);
	}
	const message = question ?? describeCall(entry);
	if (v.is(link, options)) return inputRequired.elicitUrl({ message, url: options.url });
	if (v.is(form, options)) return toFormRequest(message, options.schema);
	return elicit(message, { answer: { type: 'string' as const, title: 'Answer' } }, ['answer']);
}

type Elicited = Parameters<typeof inputRequired.elicit>[0];
type FormSchema = Extract<Elicited['requestedSchema'], { readonly type: 'object' }>;

function elicit(message: string, properties: FormSchema['properties'], required: string[]): InputRequest {
	return inputRequired.elicit({ message, requestedSchema: { type: 'object', properties, required } });
}

function toFormRequest(message: string, schema: v.InferOutput<typeof form>['schema']): InputRequest {
	// SAFETY: The client refuses a form that the protocol does not allow, and the tool checks the answer.
	const requestedSchema = { ...schema, type: 'object' } as FormSchema;
	return inputRequired.elicit({ message, requestedSchema });
}

/** Describes a call, what it would do, and why a person is asked (docs/untrusted-text.md). */
function describeCall({ tool, input, flow, preview }: ClientQuestion): string {
	const lines = [`${tool} ${JSON.stringify(input) ?? ''}`];
	if (preview !== undefined) lines.push(preview);
	if (flow !== undefined) {
		const list = (sources: readonly FlowSource[]) => sources.map(({ what }) => what).join(', ');
		lines.push(`It would send this to ${flow.targets.join(', ') || 'an unknown place'}.`);
		lines.push(`Strangers may have written: ${list(flow.outside)}. Private: ${list(flow.private)}.`);
	}
	return showSigns(lines.join('\n'));
}

export type AnswerKind = WaitsFor | 'form' | 'link';

export function toAnswerKind({ for: waitsFor, options }: Pick<ClientQuestion, 'for' | 'options'>): AnswerKind {
	if (waitsFor !== 'answer') return waitsFor;
	return v.is(link, options) ? 'link' : v.is(form, options) ? 'form' : 'answer';
}

/** Returns the name of a question: the name of its form, or `answer` if the form has no name. */
export function toAnswerKey({ options }: Pick<ClientQuestion, 'options'>): string {
	return (v.is(form, options) ? options.name : undefined) ?? 'answer';
}

/** Returns undefined if the person closed the question, or was not asked. */
export function readAnswer({ mcpReq }: ServerContext, key: string, kind: AnswerKind): OutsideAnswer | undefined {
	const given = inputResponse(mcpReq.inputResponses, key);
	if (given.kind !== 'elicit' || given.action === 'cancel') return undefined;
	const { action, content = {} } = given;
	// The tool itself decides what a declined form means.
	if (kind === 'form') return { gives: 'value', value: JSON.stringify({ action, content }) };
	if (kind === 'link') return { gives: 'value', value: action === 'accept' ? 'done' : action };
	if (action === 'decline') return { gives: 'refusal' };
	if (kind === 'approval') return { gives: content.approve === true ? 'permission' : 'refusal' };
	return { gives: 'value', value: kind === 'result' ? content.result : content.answer };
}
