/**
 * The page: picks an agent, chats, and finds its way back to a session by `?session=ID`.
 *
 * @import { Agent, Answer, Message, RunEvent } from './session.js'
 * @import { CallView } from './tool-call.js'
 */

import { createAttachments, createFileList } from './attachments.js';
import { element, withoutTurns } from './element.js';
import { listenForFiles } from './file-drop.js';
import { createKeyForm, createKeyHeaders } from './key.js';
import { createOpenCalls, pointAtOpenCall } from './open-calls.js';
import { createRunView, toEvents } from './run-view.js';
import { ClientError, createClient, isTransient } from './session.js';
import { createTail } from './tail.js';
import { describeAnswer, describeModel, saidIn, toText } from './words.js';

const page = {
	agent: find('#agent', HTMLSelectElement),
	newChat: find('#new', HTMLButtonElement),
	welcome: find('#welcome', HTMLElement),
	transcript: find('#transcript', HTMLElement),
	composer: find('#composer', HTMLFormElement),
	text: find('#text', HTMLTextAreaElement),
	send: find('#send', HTMLButtonElement),
	stop: find('#stop', HTMLButtonElement),
	status: find('#status', HTMLElement),
};
const elements = {
	attach: find('#attach', HTMLButtonElement),
	picker: find('#picker', HTMLInputElement),
	text: page.text,
	target: page.composer,
};
const attachments = createAttachments(find('#files', HTMLElement), find('#files-note', HTMLElement), () =>
	page.text.focus(),
);

const tail = createTail(find('#scroller', HTMLElement));
const headers = createKeyHeaders();
const onRetry = () => setStatus('Connection lost. Trying again…');
const client = createClient({ headers, readRetries: 2, onRetry });

/** @type {Agent[]} */
let agents = [];
/** @type {string | undefined} */
let sessionId;
/** The calls that are shown, by their ids. @type {Map<string, CallView>} */
let calls = new Map();
/** The call whose question the next message answers. @type {string | undefined} */
let asking;
let isRunning = false;
/** Aborted when the page turns to another chat: whatever still runs for the old one stops and touches nothing. */
let chat = new AbortController();

/** Shows what the address names: a session, or the start of a new one. */
async function open() {
	chat.abort();
	chat = new AbortController();
	const { signal } = chat;
	sessionId = new URL(location.href).searchParams.get('session') ?? undefined;
	page.transcript.replaceChildren();
	calls = new Map();
	asking = undefined;
	page.welcome.hidden = true;
	page.send.disabled = true;
	setRunning(false);
	setStatus('');
	try {
		if (agents.length === 0) showAgents(await client.agents({ signal }));
		setStatus('');
		if (sessionId !== undefined) return await showSession(sessionId, signal);
		showWelcome();
		page.send.disabled = false;
	} catch (error) {
		if (!signal.aborted) showFailure(error, isTransient(error));
	}
}

/**
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function showSession(id, signal) {
	page.transcript.setAttribute('aria-busy', 'true');
	try {
		const { session, messages } = await client.load(id, { signal });
		pickAgent(session.agent);
		showHistory(messages);
		tail.toEnd();
	} finally {
		if (!signal.aborted) page.transcript.removeAttribute('aria-busy');
	}
	page.send.disabled = false;
	await play(client.follow(id, { signal }), signal);
}

/** @param {Message[]} messages */
function showHistory(messages) {
	/** @type {ReturnType<typeof createRunView> | undefined} */
	let view;
	let runId;
	for (const message of messages) {
		if (message.role === 'system') {
			showSummary(toText(message.content));
			continue;
		}
		if (message.role === 'user' || message.runId !== runId) {
			view?.end();
			view = undefined;
		}
		runId = message.runId;
		if (message.role === 'tool')
			calls.get(message.toolCallId ?? '')?.setResult(message.content, message.isError === true);
		if (message.role === 'user' || (message.role === 'tool' && !view && message.isInput)) {
			showMessage(saidIn(message), message.attachments);
			continue;
		}
		view ??= createRunView(page.transcript, calls);
		for (const event of toEvents(message)) view.apply(event);
	}
	view?.end();
}

/** @param {string} text */
async function send(text) {
	if (isRunning || page.send.disabled || (text.trim() === '' && attachments.isEmpty)) return;
	if (isHeldUp()) return;
	const { signal } = chat;
	setRunning(true);
	const files = await attachments.take();
	if (signal.aborted) return attachments.restore(files);
	page.welcome.hidden = true;
	const bubble = showMessage(text.trim() === '' ? '' : text, files);
	page.text.value = '';
	page.text.focus();
	tail.toEnd();
	const asked = calls.get(asking ?? '');
	asked?.setResult(text, false);
	try {
		if (sessionId === undefined) {
			sessionId = (await client.createSession({ agent: page.agent.value }, { signal })).id;
			history.pushState(null, '', `?session=${encodeURIComponent(sessionId)}`);
		}
		await play(client.send(sessionId, text.trim() === '' ? '' : text, { attachments: files, signal }), signal);
	} catch (error) {
		if (signal.aborted) return;
		setRunning(false);
		const isAccepted = error instanceof ClientError && error.code === 'connection_lost';
		if (!isAccepted) {
			bubble.remove();
			asked?.wait();
			page.text.value ||= text;
			attachments.restore(files);
		}
		showFailure(error);
		if (error instanceof ClientError && error.code === 'conflict') await showOpenCalls(signal);
	}
}

/** Whether a call waits for a person: then no message can be sent, and the call is pointed at. */
function isHeldUp() {
	const todo = pointAtOpenCall(page.transcript);
	if (todo !== undefined) setStatus(`${todo} Your message is kept here.`);
	return todo !== undefined;
}

/**
 * Shows the events of a run as they come, once a frame.
 *
 * @param {AsyncIterable<RunEvent>} events
 * @param {AbortSignal} signal
 */
async function play(events, signal) {
	const view = createRunView(page.transcript, calls);
	/** @type {RunEvent[]} */
	let queue = [];
	let frame = 0;

	function draw() {
		frame = 0;
		const events = queue;
		queue = [];
		for (const event of events) view.apply(event);
		view.flush();
		tail.keep();
	}

	let waits = false;
	setRunning(true);
	try {
		for await (const event of events) {
			if (signal.aborted) return;
			setStatus('Answering…');
			waits = event.type === 'awaiting' && event.toolCalls !== undefined;
			asking = event.type === 'awaiting' && typeof event.question === 'object' ? event.question.callId : undefined;
			queue.push(event);
			frame ||= requestAnimationFrame(draw);
		}
		setStatus('');
	} finally {
		cancelAnimationFrame(frame);
		if (!signal.aborted) {
			draw();
			view.end();
			if (!view.root.hasChildNodes()) view.root.remove();
			setRunning(false);
		}
	}
	if (waits && !signal.aborted) await showOpenCalls(signal);
}

/**
 * Asks for the answers that the session waits for now: some may be there already.
 *
 * @param {AbortSignal} signal
 */
async function showOpenCalls(signal) {
	if (sessionId === undefined) return;
	const id = sessionId;
	const { toolCalls = [] } = await client.session(id, { signal });
	if (toolCalls.length === 0) return;
	for (const old of page.transcript.querySelectorAll('.open-calls')) old.remove();
	const box = createOpenCalls(toolCalls, async (answer) => {
		const bubble = showMessage(describeAnswer(answer));
		setStatus('');
		showAnswer(answer);
		if (box.querySelector('input:enabled') === null) box.remove();
		try {
			await play(client.submit(id, [answer], { signal }), signal);
		} catch (error) {
			if (signal.aborted) return;
			bubble.remove();
			box.remove();
			calls.get(answer.id)?.wait();
			showFailure(error);
			await showOpenCalls(signal);
		}
	});
	page.transcript.append(box);
	tail.toEnd();
}

/**
 * Shows at a call what a person said of it: its result, or that it may run now.
 *
 * @param {Answer} answer
 */
function showAnswer(answer) {
	const call = calls.get(answer.id);
	if (!('approve' in answer)) call?.setResult(answer.output, answer.isError === true);
	else if (answer.approve) call?.resume();
	else call?.setResult(describeAnswer(answer), true);
}

async function stop() {
	if (sessionId === undefined) return;
	page.stop.disabled = true;
	try {
		await client.cancel(sessionId);
	} catch (error) {
		showFailure(error);
	}
	page.stop.disabled = false;
}

function startNewChat() {
	if (sessionId !== undefined) history.pushState(null, '', location.pathname);
	open();
	page.text.focus();
}

/**
 * @param {string} text
 * @param {readonly { name: string, size: number }[]} [files] that came with it
 */
function showMessage(text, files = []) {
	const bubble = element('div', 'message', element('span', 'visually-hidden', 'You: '), text);
	if (files.length > 0) bubble.append(createFileList(files));
	page.transcript.append(bubble);
	return bubble;
}

/**
 * What the model is sent instead of the messages above.
 *
 * @param {string} text
 */
function showSummary(text) {
	const title = element('summary', '', 'The model reads the messages above as this summary');
	page.transcript.append(element('details', 'reasoning', title, element('div', 'body', text)));
}

/**
 * @param {unknown} error
 * @param {boolean} [mayPass] whether opening the chat again may help; by default where there was no answer
 */
function showFailure(error, mayPass = error instanceof ClientError && error.status === undefined) {
	const box = element('div', 'failure', element('p', '', readMessage(error)));
	box.setAttribute('role', 'alert');
	if (mayPass) box.append(button('retry', 'Try again', open));
	else if (error instanceof ClientError && error.status === 401) box.append(createKeyForm(headers, open));
	else if (error instanceof ClientError && error.code === 'not_found')
		box.append(button('retry', 'New chat', startNewChat));
	page.transcript.append(box);
	setStatus('');
	tail.toEnd();
}

/** @param {unknown} error */
function readMessage(error) {
	if (!(error instanceof ClientError)) return 'The page met an error of its own. A reload shows the chat again.';
	if (error.code === 'unreachable') return 'The server does not answer. Is it running, and is this device online?';
	return error.message;
}

/**
 * @param {string} className
 * @param {string} label
 * @param {() => void} onClick
 */
function button(className, label, onClick) {
	const node = element('button', className, label);
	node.type = 'button';
	node.addEventListener('click', onClick);
	return node;
}

/** @param {Agent[]} list */
function showAgents(list) {
	agents = list;
	page.agent.replaceChildren(...list.map(({ name }) => new Option(name, name)));
	page.agent.disabled = list.length === 0;
}

/** @param {string} name of an agent, which the server may no longer offer */
function pickAgent(name) {
	if (!agents.some((agent) => agent.name === name)) page.agent.add(new Option(name, name));
	page.agent.value = name;
}

function showWelcome() {
	const agent = agents.find(({ name }) => name === page.agent.value) ?? agents[0];
	if (!agent) throw new ClientError('no_agent', 'This server has no agent to talk to.', { status: 200 });
	pickAgent(agent.name);
	find('#welcome-name', HTMLElement).textContent = agent.name;
	find('#welcome-description', HTMLElement).textContent = agent.description ?? '';
	const facts = [
		...createFacts('Model', agent.model ? [describeModel(agent)] : []),
		...createFacts(
			'Tools',
			(agent.tools ?? []).map(({ name }) => name),
		),
		...createFacts(
			'Skills',
			(agent.skills ?? []).map(({ name }) => name),
		),
	];
	find('#welcome-facts', HTMLElement).replaceChildren(...facts);
	const examples = (agent.examples ?? []).map((text) => button('', text, () => send(text)));
	const box = find('#examples', HTMLElement);
	for (const old of box.querySelectorAll('button')) old.remove();
	box.append(...examples);
	box.hidden = examples.length === 0;
	page.welcome.hidden = false;
}

/**
 * @param {string} label
 * @param {string[]} names
 */
function createFacts(label, names) {
	if (names.length === 0) return [];
	const shown = names.length > 12 ? [...names.slice(0, 10), `and ${names.length - 10} more`] : names;
	return [element('dt', '', label), element('dd', '', shown.join(', '))];
}

/** @param {boolean} value */
function setRunning(value) {
	isRunning = value;
	if (!value && document.activeElement === page.stop) page.text.focus();
	page.send.hidden = value;
	page.stop.hidden = !value;
}

/** @param {string} text */
function setStatus(text) {
	const shown = withoutTurns(text);
	if (page.status.textContent !== shown) page.status.textContent = shown;
}

/**
 * @template {Element} T
 * @param {string} selector
 * @param {{ new (): T }} type
 * @returns {T}
 */
function find(selector, type) {
	const node = document.querySelector(selector);
	if (!(node instanceof type)) throw new Error(`The page lacks ${selector}.`);
	return node;
}

page.composer.addEventListener('submit', (event) => {
	event.preventDefault();
	send(page.text.value);
});
page.text.addEventListener('keydown', (event) => {
	if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
	event.preventDefault();
	send(page.text.value);
});
page.text.addEventListener('input', () => {
	if (page.text.value !== '') isHeldUp();
});
listenForFiles(elements, (files) => {
	attachments.add(files);
	page.text.focus();
});
page.agent.addEventListener('change', startNewChat);
page.newChat.addEventListener('click', startNewChat);
page.stop.addEventListener('click', stop);
addEventListener('popstate', open);
open();
page.text.focus();
