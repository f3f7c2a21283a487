/** The page: the chat and the panels, each at its own address. */

import { createConnectClient } from '../client/connect.ts';
import { createHttp } from '../client/http.ts';
import { ClientError, createClient, type Me } from '../client/index.ts';
import { describeUsage } from '../client/words.ts';
import { createAgentOffer } from './chat/agent-offer.ts';
import { Chat } from './chat/chat.ts';
import { createChoice, type Home } from './chat/choice.ts';
import { createDraftBox } from './chat/drafts.ts';
import { listenForEscape } from './chat/escape.ts';
import { createFileView } from './chat/file-view.ts';
import { createForkButton, forkAt } from './chat/fork.ts';
import { createFrame } from './chat/frame.ts';
import { createMoneyView } from './chat/money.ts';
import { createSplitter } from './chat/splitter.ts';
import { createTestSaver } from './chat/test-saver.ts';
import { createVersions } from './chat/versions.ts';
import { createHome, type HomeOptions, intro } from './home/home.ts';
import { warmUp } from './markdown/warm-up.ts';
import { createAttention, createNotifySwitch } from './menu/attention.ts';
import { createFoot } from './menu/foot.ts';
import { createMenu } from './menu/menu.ts';
import { createShortcuts } from './menu/shortcuts.ts';
import { addPaletteKeys, listActions, otherWords } from './palette/actions.ts';
import { createPalette } from './palette/palette.ts';
import { missing } from './panels/missing.ts';
import { createPanelView, listPanels } from './panels.ts';
import { type Address, parseAddress, toSessionAddress } from './parts/address.ts';
import { createAskedBy } from './parts/asked-by.ts';
import { chooseAgent } from './parts/choose-agent.ts';
import { listenForDecisions } from './parts/decide-keys.ts';
import { find } from './parts/element.ts';
import { createFailure } from './parts/failure.ts';
import { createAnswerWatch, createPolling, createWindows } from './parts/live.ts';
import { createPageIcon } from './parts/page-icon.ts';
import type { Panel } from './parts/panel.ts';
import { findLook } from './parts/places.ts';
import { followKeyboard } from './parts/view-height.ts';
import { createViewer, isSameViewer } from './parts/viewer.ts';
import { forgetKey, readKey } from './sign-in/key.ts';
import { createSignIn, watchRefusals } from './sign-in/sign-in.ts';
import { createTraceDrawer, toCurl } from './trace/drawer.ts';

// The API has the same base address as this script, whatever the path of the page is.
const baseUrl = new URL('.', import.meta.url).href;
const viewer = createViewer();
const signIn = createSignIn({
	check: (apiKey) => createClient({ baseUrl, apiKey }).getMe(),
	onSignedIn: (me) => {
		const isOther = viewer.me !== undefined && !isSameViewer(viewer.me, me);
		if (isOther) startAnew();
		else welcome(me);
	},
});
const server = {
	baseUrl,
	apiKey: readKey,
	fetch: watchRefusals(
		createWindows((session) => {
			look(session === parseAddress(location.hash).session);
			poll();
		}),
		(error) => signIn.ask(error),
	),
};
const client = createClient(server);
const connection = createConnectClient(createHttp(server));
const poll = createPolling(look);
const testSaver = createTestSaver(client);
const attention = createAttention();
const menu = createMenu(client, viewer, {
	onNews: (changed) => {
		if (changed.has(parseAddress(location.hash).session ?? '')) chat.look();
		panelView.look();
		poll();
	},
	onWaiting: attention.setWaiting,
});
const foot = createFoot({
	viewer,
	signOutUrl: document.querySelector<HTMLMetaElement>('meta[name="sign-out"]')?.content ?? '',
	onChange: signIn.change,
	onSignOut: () => {
		forgetKey();
		startAnew();
	},
});
/** What the start page says or opens when it is shown next. */
let nextStart: Pick<HomeOptions, 'connected' | 'isAsked'> = {};
const home: Home = {
	intro,
	create({ renew, ...start }) {
		const onConnected = (connected: string): Promise<void> => {
			nextStart = { connected };
			return renew();
		};
		const shown = nextStart;
		nextStart = {};
		return createHome({ ...start, ...shown, connection, readAgents: () => client.listAgents(), onConnected });
	},
};
const chatRoot = find('#chat', HTMLElement);
chatRoot.append(...createFrame());
const chatServer = {
	...server,
	fetch: createAnswerWatch(server.fetch, () => chat.showAnswer()),
	onRetry: () => chat.showRetry(),
};
const chat: Chat = new Chat(createClient(chatServer), {
	root: document,
	life: new AbortController().signal,
	dropArea: window,
	// The token of a session does not open what the view reads.
	createMoney: (tab, reader, readVisit) =>
		createMoneyView(tab, reader, () => (viewer.may('seeAgents') ? readVisit() : undefined)),
	createFileView,
	createSplitter,
	extras: { createVersions, createAgentOffer, createDraftBox, createForkButton, forkAt, listenForEscape },
	createAskedBy,
	describeUsage,
	createChoice: (onAgent) => createChoice(client, viewer, { onAgent, home }),
	mayDecide: () => viewer.may('decide'),
	mayWrite: () => viewer.may('sendMessage'),
	onSession: (id) => history.pushState(null, '', toSessionAddress(id)),
	onNew: () => {
		location.hash = '#/';
	},
	onEvent: attention.note,
	onFork: (id) => {
		location.hash = toSessionAddress(id);
	},
	onActivity: () => {
		void menu.refresh();
		showTrace();
		poll();
	},
});
find('#save-test', HTMLElement).prepend(createPageIcon('test'));
find('#trace-open', HTMLElement).prepend(createPageIcon('trace'));
const trace = createTraceDrawer(chat.pane.add('trace', 'Trace', { hasChip: false }), client, (session) =>
	toCurl(server.baseUrl, session, readKey() !== undefined),
);
const panelRoot = find('#panel', HTMLElement);
const panelView = createPanelView(panelRoot, { client, viewer }, menu.refresh);
const chatRoots = [chatRoot, find('#chosen', HTMLElement)];

/** Whether the pane stays open for what is shown next: after a reload, and for a link that is in it. */
let keepsPane = true;
find('#pane', HTMLElement).addEventListener('click', ({ target }) => {
	keepsPane = target instanceof Element && target.closest('a') !== null;
});

/** Reads changes that were made elsewhere, such as in another window. */
function look(asksSession: boolean): void {
	void menu.refresh();
	if (!asksSession) return;
	chat.look();
	showTrace();
}

function showTrace(): void {
	const { panel, session } = parseAddress(location.hash);
	const shown = panel === undefined ? session : undefined;
	trace.show(viewer.may('manageSession') ? shown : undefined);
	testSaver.show(shown);
}

/** Shows the page to a person whom the server has let in. */
function welcome(me: Me): void {
	viewer.use(me);
	const { body } = document;
	body.classList.add('known');
	body.classList.toggle('staff', viewer.may('manageSession'));
	body.classList.toggle('admin', viewer.may('setBudget'));
	testSaver.allow(viewer.may('manageSession'));
	menu.showPanels(listPanels(viewer));
	foot.show();
	show();
}

/** Drops all that the page knows of a person. */
function startAnew(): void {
	history.replaceState(null, '', '#/');
	location.reload();
}

async function start(): Promise<void> {
	panelView.close();
	try {
		welcome(await client.getMe());
	} catch (error) {
		// The session of a token is gone.
		if (error instanceof ClientError && error.status === 404) {
			history.replaceState(null, '', '#/');
			signIn.ask(error);
		}
		for (const root of chatRoots) root.hidden = true;
		panelRoot.replaceChildren(createFailure(error, () => void start()));
		panelRoot.hidden = false;
	}
}

/** Finds what to show at an address. The token of a session has only its session. Without new chats, a panel is the start. */
function findOwnAddress(address: Address): Address {
	const own = viewer.me?.session;
	const [first] = listPanels(viewer);
	const isStart = address.panel === undefined && address.session === undefined;
	if (own !== undefined) return { session: own };
	return isStart && first !== undefined && !viewer.may('createSession') ? { panel: first.name } : address;
}

function findPanel(name: string | undefined): Panel | undefined {
	return name === undefined ? undefined : (listPanels(viewer).find((panel) => panel.name === name) ?? missing);
}

function show(): void {
	if (viewer.me === undefined) return;
	const asked = parseAddress(location.hash);
	const address = findOwnAddress(asked);
	if (address.session !== asked.session || address.panel !== asked.panel)
		history.replaceState(null, '', address.session ? toSessionAddress(address.session) : `#/${address.panel ?? ''}`);
	const panel = findPanel(address.panel);
	menu.point();
	showTrace();
	if (address.trace !== undefined) trace.open(address.trace);
	else if (!keepsPane) chat.pane.uncover();
	keepsPane = false;
	for (const root of chatRoots) root.hidden = panel !== undefined;
	if (panel === undefined) {
		panelView.close();
		void chat.open(address.session);
	} else {
		chat.close();
		panelView.open(panel);
	}
}

/** Shows the start page of an agent. */
function startChat(name: string): void {
	chooseAgent(name);
	showStart();
}

function connectModel(): void {
	nextStart = { isAsked: true };
	showStart();
}

function showStart(): void {
	if (/^#?\/?$/.test(location.hash)) show();
	else location.hash = '#/';
}

addPaletteKeys(
	createPalette({
		client,
		listActions: () => listActions(client, viewer, connectModel),
		listPanels: () =>
			listPanels(viewer).map(({ name, title, about }) => ({
				...{ title, about, icon: findLook(name).icon, words: otherWords[name] },
				run: () => {
					location.hash = `#/${name}`;
				},
			})),
		onAgent: startChat,
	}),
);

const offline = find('#offline', HTMLElement);
const showOffline = () => {
	offline.hidden = navigator.onLine;
};
addEventListener('online', showOffline);
addEventListener('offline', showOffline);
showOffline();

listenForDecisions();
warmUp();
addEventListener('hashchange', show);
/** Moves the focus to what the page is about. */
function skip(): void {
	const [field, head] = [find('#text', HTMLElement), document.querySelector<HTMLElement>('#panel h2')];
	(head ?? field).focus();
}

find('#skip', HTMLElement).addEventListener('click', (event) => {
	event.preventDefault();
	skip();
});
followKeyboard();
const shortcuts = createShortcuts({
	onNew: () => find('#new', HTMLElement).click(),
	onWrite: () => find('#text', HTMLElement).focus(),
});
find('#menu-end', HTMLElement).append(createNotifySwitch() ?? '', shortcuts);

// While a new chat is shown, a click on this link does not change the address, so show the chat here.
find('#new', HTMLElement).addEventListener('click', () => {
	if (/^#?\/?$/.test(location.hash)) show();
});
void start();
