/** Runs a tool of an agent alone: a form for its arguments, what the call waits for, and its result. */

import type { AgentTool, CallAnswer, CalledTool, Client, ToolCallBody } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { createToolCall } from '../chat/tool-call.ts';
import { button, configure, element, onSubmit } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createMistake } from '../parts/form.ts';
import { createOpenCall } from '../parts/open-call.ts';
import { createQuestion } from '../parts/question.ts';
import { createSchemaField } from '../parts/schema-form.ts';

export interface RunPlace {
	readonly client: Client;
	readonly agent: string;
	/** Aborted when the page leaves the panel. */
	readonly signal: AbortSignal;
}

/** Makes the form. `tool` has the schema of the arguments. */
export function createToolRun({ name, inputSchema }: AgentTool, place: RunPlace): HTMLElement {
	const fields = takesArguments(inputSchema) ? createSchemaField(inputSchema, 'Arguments') : undefined;
	const start = configure(element('button', 'primary', 'Run'), { ariaLabel: `Run ${name}` });
	const stop = button('', 'Stop', () => running?.abort());
	const outcome = element('div', 'outcome');
	const shown = fields && element('div', 'result-fields', fields.node);
	const form = element('form', '', shown, element('div', 'decisions', start, stop));
	let running: AbortController | undefined;
	setRunning(undefined);

	function setRunning(next: AbortController | undefined): void {
		running = next;
		start.disabled = next !== undefined;
		stop.hidden = next === undefined;
	}

	async function run(input: Record<string, unknown>, answer?: ToolCallBody['answer']): Promise<void> {
		const stopping = new AbortController();
		setRunning(stopping);
		const view = createToolCall(name);
		view.addInput(JSON.stringify(input));
		view.endInput();
		outcome.replaceChildren(view.root);
		const begun = performance.now();
		try {
			const signal = AbortSignal.any([stopping.signal, place.signal]);
			const body = { tool: name, input, ...(answer && { answer }) };
			const end = await place.client.callTool(place.agent, body, { signal });
			view.setTime(performance.now() - begun);
			for (const { label, detail } of end.notes) {
				const line = element('p', 'note', element('b', '', label), ` ${detail ?? ''}`);
				outcome.append(line);
				view.addNote(line, detail);
			}
			if (end.type === 'waits') return showWait(end, input);
			view.setResult(end.output, end.isError, end.parts);
			view.root.open = true;
		} catch (error) {
			view.leave();
			if (stopping.signal.aborted) outcome.append(element('p', 'notice', 'Stopped.'));
			else if (!place.signal.aborted) outcome.append(createFailure(error, () => void run(input, answer)));
		} finally {
			setRunning(undefined);
			outcome.scrollIntoView({ block: 'nearest' });
		}
	}

	/** Shows what a call waits for. Changed arguments are another call, which is asked about again. */
	function showWait(end: Extract<CalledTool, { type: 'waits' }>, input: Record<string, unknown>): void {
		const { waiting, question = '', options } = end;
		const decide = (answer: CallAnswer): void => {
			if (!('approve' in answer)) return;
			const { approve, input: changed } = answer;
			void (changed === undefined ? run(input, { waiting, approve }) : run(changed));
		};
		if (end.for === 'approval') {
			const call = { id: waiting, name, input, kind: 'approval', preview: end.preview } as const;
			outcome.replaceChildren(createOpenCall(call, decide, { schema: inputSchema }));
		} else {
			const asked = { callId: waiting, question, options };
			const send = (output: string): void => void run(input, { waiting, output });
			const nobody = { createAbout: () => undefined, findSchema: () => undefined };
			outcome.replaceChildren(createQuestion(asked, send, nobody));
		}
	}

	onSubmit(form, () => {
		try {
			const input = fields?.read() ?? {};
			if (!isRecord(input)) throw createMistake('Arguments: write a JSON object.');
			void run(input);
		} catch (error) {
			outcome.replaceChildren(createFailure(error, () => form.requestSubmit()));
		}
	});
	return element('div', 'run-tool', form, outcome);
}

/** Whether a schema allows any arguments: by `properties`, or by another keyword, such as `anyOf` or `$ref`. */
function takesArguments(schema: AgentTool['inputSchema']): boolean {
	const { type: _, title: __, description: ___, $schema: ____, required: _____, ...others } = schema;
	const { properties, additionalProperties = false, ...rest } = others;
	const isNamed = isRecord(properties) && Object.keys(properties).length > 0;
	return isNamed || additionalProperties !== false || Object.keys(rest).length > 0;
}
