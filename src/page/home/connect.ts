/** Connects a model: takes the key of a provider, checks it there, and writes it where `npm start` reads it. */

import { type ConnectClient, type ModelAccess, type ModelProvider, modelProviders } from '../../client/connect.ts';
import { type Agent, ClientError } from '../../client/index.ts';
import { button, configure, createCopy, element } from '../parts/element.ts';
import { createField, createForm, createTextField } from '../parts/form.ts';

export interface ConnectOptions {
	readonly agents: readonly Agent[];
	readonly connection: ConnectClient;
	/** Reads the agents. */
	readonly readAgents: () => Promise<readonly Agent[]>;
	/** Called when the server runs with the new model. */
	readonly onConnected: (model: string) => Promise<void>;
	/** The model that was connected just now. */
	readonly connected?: string;
	/** Whether the form is open from the beginning. */
	readonly isAsked?: boolean;
}

/** How long the server may take to start again, and the pause between two looks, in milliseconds. */
const startMs = 60_000;
const pauseMs = 500;

export function createConnect(options: ConnectOptions): HTMLElement {
	const { agents, connection, connected, isAsked } = options;
	const body = element('div', 'connect-body');
	const said = configure(element('p', 'good'), { role: 'status' });
	const about = element('p', 'about', ...describeModels(agents));
	const label = hasModel(agents) ? 'Connect another model' : 'Connect a model';
	const open = button(hasModel(agents) ? '' : 'primary', label, () => void show());

	async function show(): Promise<void> {
		open.hidden = true;
		const file = await findFile(connection);
		const form = file === undefined ? createCommands() : createAccessForm(options, file);
		form.querySelector('.form-end')?.append(button('', 'Cancel', close));
		body.replaceChildren(form);
		body.querySelector('select')?.focus();
		body.scrollIntoView({ block: 'nearest' });
	}

	function close(): void {
		body.replaceChildren();
		open.hidden = false;
		open.focus();
	}

	if (isAsked) void show();
	// A screen reader reads only what comes into a status that is already on the page.
	if (connected !== undefined)
		requestAnimationFrame(() => {
			said.textContent = `Connected: ${connected}`;
		});
	return element('section', 'connect', element('h3', '', 'Model'), said, about, open, body);
}

/** Whether a language model can answer, and not only `demo`. */
export function hasModel(agents: readonly Agent[]): boolean {
	return agents.some(({ model, ready }) => ready && model !== 'demo');
}

function describeModels(agents: readonly Agent[]): (Node | string)[] {
	const models = [...new Set(agents.map(({ model }) => model))];
	if (models.every((model) => model === 'demo'))
		return [
			element('code', '', 'demo'),
			' answers now: a small program with fixed rules, which needs no key. Connect a provider, and a language model answers.',
		];
	return ['Answers come from ', element('code', '', models.join(', ')), '.'];
}

/** The names by which a browser reaches only its own machine. */
const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Returns the file of variables that the server can write, or undefined for a server that is not of `npm start`. */
async function findFile({ readConnectable }: ConnectClient): Promise<string | undefined> {
	if (!loopback.test(location.hostname)) return undefined;
	return readConnectable().then(
		({ file }) => file,
		() => undefined,
	);
}

function createProviderField(onChange: (provider: ModelProvider) => void) {
	const field = element('select', '', ...modelProviders.map(({ name, title }) => new Option(title, name)));
	const read = (): ModelProvider => modelProviders.find(({ name }) => name === field.value) ?? modelProviders[0];
	field.addEventListener('change', () => onChange(read()));
	return { field, read };
}

/** The commands for a Worker that is deployed. */
function createCommands(): HTMLElement {
	const command = element('pre');
	const show = ({ name, needsKey }: ModelProvider): void => {
		command.textContent = `npx wrangler secret put ${name}_${needsKey ? 'API_KEY' : 'BASE_URL'}`;
	};
	const provider = createProviderField(show);
	show(provider.read());
	return element(
		'div',
		'form',
		createField('Provider', provider.field),
		element('p', '', 'The page cannot change a deployed Worker. In the folder of your project:'),
		element(
			'div',
			'command',
			command,
			createCopy('Copy the command', () => command.textContent ?? ''),
		),
		element(
			'p',
			'about',
			'The variable ',
			element('code', '', 'MODEL'),
			' under [vars] in wrangler.toml names the model of all agents that name none. On your machine, both are lines in .dev.vars.',
		),
		element('div', 'form-end'),
	);
}

function createAccessForm(options: ConnectOptions, file: string): HTMLElement {
	const { connection } = options;
	const key = configure(element('input', 'line'), { type: 'password', autocomplete: 'off', spellcheck: false });
	const baseUrl = configure(createTextField(), { inputMode: 'url', spellcheck: false });
	const next = configure(element('div'), { role: 'status' });
	const address = createField('Base URL', baseUrl, ' ');
	const provider = createProviderField(adapt);
	function adapt({ baseUrl: usual = 'https://llm.example.com/v1', needsKey }: ModelProvider): void {
		baseUrl.placeholder = usual;
		baseUrl.required = provider.read().baseUrl === undefined;
		const hint = baseUrl.required
			? 'The address of the API, up to the part before /chat/completions.'
			: 'Only for a gateway, a proxy or a server of your own.';
		address.querySelector('small')?.replaceChildren(hint);
		key.required = needsKey;
		next.replaceChildren();
	}
	adapt(provider.read());
	for (const field of [key, baseUrl]) field.addEventListener('input', () => next.replaceChildren());
	const fields = [
		createField('Provider', provider.field),
		createField('API key', key, `It is checked at the provider, and then written to ${file} on this machine.`),
		address,
	];
	const form = createForm('Check the key', fields, async () => {
		const access = { provider: provider.read().name, key: key.value.trim(), baseUrl: baseUrl.value.trim() };
		next.replaceChildren();
		const models = await connection.checkModelAccess(access).catch(nameFields);
		next.replaceChildren(createModelForm(options, { access, models, title: provider.read().title, file }));
		next.querySelector('select')?.focus();
		next.scrollIntoView({ block: 'nearest' });
	});
	return element('div', '', form, next);
}

/** Throws the error again, with the names of the fields in the form. */
function nameFields(error: unknown): never {
	if (!(error instanceof ClientError)) throw error;
	const { code, status, message } = error;
	const named = message.replace(/^baseUrl:/, 'Base URL:').replace(/^key:/, 'API key:');
	throw new ClientError(code, named, { status });
}

interface Checked {
	readonly access: ModelAccess;
	readonly models: readonly string[];
	readonly title: string;
	readonly file: string;
}

function createModelForm(options: ConnectOptions, { access, models, title, file }: Checked): HTMLElement {
	const model = element('select', '', ...models.map((name) => new Option(name, name)));
	const count = models.length === 1 ? 'one model' : `${models.length} models`;
	const status = element('p', 'about');
	const form = createForm('Use this model', [createField('Model', model)], async () => {
		await options.connection.connectModel({ ...access, model: model.value });
		status.textContent = `Written to ${file}. The server starts again with it…`;
		status.scrollIntoView({ block: 'nearest' });
		const isServed = await waitForModel(options, model.value);
		// A person may have left the start page in the meantime.
		if (isServed && status.isConnected) return options.onConnected(model.value);
		status.textContent = `Written to ${file}, but the server does not serve ${model.value} yet. The terminal of npm start says why.`;
	});
	return element(
		'div',
		'connect-model',
		element('p', 'good', `${title} accepts this, and offers ${count}.`),
		form,
		status,
	);
}

/** Waits until an agent answers with the model. */
async function waitForModel({ readAgents }: ConnectOptions, model: string): Promise<boolean> {
	for (const until = performance.now() + startMs; performance.now() < until; ) {
		const agents = await readAgents().catch(() => []);
		if (agents.some((agent) => agent.model === model && agent.ready)) return true;
		await new Promise((resolve) => setTimeout(resolve, pauseMs));
	}
	return false;
}
