// SPDX-License-Identifier: BSD-2-Clause
// node check.mjs CHROMIUM URL SCENARIO,... [DIRECTORY]: opens the status page, does what a person would, and prints the
// result of each scenario as JSON. DIRECTORY: where screenshots go. Every scenario counts console errors and requests to
// other hosts.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {chromium} from 'playwright-core';

const [executablePath, url, wanted, directory] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let result;  // of the current scenario
const browser = await chromium.launch({executablePath, args: ['--no-sandbox', '--disable-gpu']});

async function open({width = 1280, height = 900, dark = false, hash = '', bypassCSP = false} = {}) {
  const context = await browser.newContext({viewport: {width, height}, colorScheme: dark ? 'dark' : 'light', bypassCSP});
  context.setDefaultTimeout(120_000);  // the machine may be busy
  const page = await context.newPage();
  // Chromium also reports 404 of a history that is off and 503 before the first poll; both are correct answers.
  page.on('console', (message) => { if (message.type() === 'error' && !/status of (404|503)/.test(message.text())) result.errors.push(message.text()); });
  page.on('pageerror', (error) => result.errors.push(String(error)));
  page.on('dialog', (dialog) => { result.dialogs.push(dialog.message()); dialog.dismiss(); });
  page.on('request', (request) => { if (!request.url().startsWith(url) && !request.url().startsWith('data:')) result.foreign.push(request.url()); });
  await page.goto(url + hash);
  await page.waitForSelector('html[data-generation]', {state: 'attached'});
  return page;
}

const text = (page, selector) => page.$eval(selector, (node) => node.textContent);
const names = (page) => page.$$eval('#types-table tbody.rows-in-view a', (links) => links.map((link) => link.textContent));
const picture = (page, name) => directory ? page.screenshot({path: `${directory}/page-${name}.png`, fullPage: true}) : undefined;
/** Whether anything is wider than the window, and how much is cut off within it. */
const width = (page) => page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);

async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
  return found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
}

const scenarios = {
  /** The first screen. */
  async overview() {
    const page = await open();
    Object.assign(result, {
      host: await text(page, '#host'), kernel: await text(page, '#kernel'), age: await text(page, '#age'), verdict: await text(page, '#verdict'),
      state: await page.getAttribute('#verdict', 'class'), problems: await page.$$eval('#problem-list li', (rows) => rows.map((row) => row.textContent)),
      findings: await page.$$eval('#finding-list li', (rows) => rows.map((row) => row.innerText)), sum: await text(page, '#memory-sum'), legend: await page.$$eval('#memory-legend .name', (all) => all.map((one) => one.textContent)),
      shares: await page.$$eval('#memory-bar i', (all) => all.map((one) => parseFloat(one.style.width))), types: await names(page),
      containers: await page.$$eval('#containers-table tbody.rows-in-view a', (links) => links.map((link) => link.textContent)),
      sources: await page.$$eval('#sources tbody tr', (rows) => rows.map((row) => row.textContent)), links: await page.$$eval('footer a', (all) => all.map((one) => one.getAttribute('href'))),
      order: await page.$$eval('#overview h2', (all) => all.map((one) => one.textContent)), width: await width(page)});
    if (directory) await page.screenshot({path: `${directory}/page-first.png`});
    await picture(page, 'light');
    await picture(await open({dark: true}), 'dark');
  },
  async phone() {
    result.widths = [];
    result.cut = [];
    for (const hash of ['', process.env.TYPE_HASH ?? '']) {
      const page = await open({width: 390, height: 844, hash});
      result.widths.push(await width(page));
      result.cut.push(await page.$$eval('.scroll', (all) => all.filter((one) => one.scrollWidth > one.clientWidth).length));
      await picture(page, hash ? 'phone-type' : 'phone');
    }
  },
  /** What the verdict's numbers count. */
  async causes() {
    const page = await open();
    result.hidden = await page.isVisible('#cause-list');
    await page.focus('#causes-title');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#cause-list', {state: 'visible'});
    result.summary = await text(page, '#causes-title');
    result.rows = await page.$$eval('#cause-list li', (rows) => rows.map((row) => [...row.children].map((child) => child.textContent)));
    result.growth = await text(page, '#growth-list');
    result.ranges = await page.$$eval('#types-table tbody.rows-in-view .w-spark', (cells) => cells.map((cell) => [cell.textContent, cell.title, cell.querySelector('path').getAttribute('d')]));
    await picture(page, 'causes');
  },
  /** The page without JavaScript, on a phone: its width, and the weight of its verdict. */
  async plain() {
    const page = await (await browser.newContext({viewport: {width: 390, height: 844}, javaScriptEnabled: false})).newPage();
    await page.goto(`${url}plain`);
    result.width = await width(page);
    result.weight = await page.$eval('nav + p', (verdict) => getComputedStyle(verdict).fontWeight);
    await page.click('summary');
    result.reasons = await page.$$eval('details li', (all) => all.map((one) => one.innerText));
    result.opened = await width(page);
    await picture(page, 'plain');
  },
  /** How far the swatches of all parts are apart: the smallest mean difference of two in 0 to 255, by colour scheme and vision, and of which. */
  async swatches() {
    result.closest = {};
    for (const dark of [false, true]) {
      const page = await open({dark, bypassCSP: true});
      await page.evaluate(() => {
        const looks = [...Array(32).keys()].map((index) => `c${index % 8} t${Math.floor(index / 8)}`);
        const swatch = (look, index) => {
          const made = document.createElement('span');
          made.className = `swatch ${look}`;
          made.style.cssText = `position: fixed; top: 0; left: ${12 * index}px; width: 12px; height: 12px; border-radius: 0; z-index: 9`;
          return made;
        };
        window.looks = [...looks, 'crest', 'cfree'];
        document.body.append(...window.looks.map(swatch));
      });
      const session = await page.context().newCDPSession(page);
      for (const type of ['none', 'deuteranopia', 'protanopia', 'tritanopia']) {
        await session.send('Emulation.setEmulatedVisionDeficiency', {type});
        const seen = (await page.screenshot({clip: {x: 0, y: 0, width: 12 * 34, height: 12}})).toString('base64');
        result.closest[`${dark ? 'dark' : 'light'} ${type}`] = await page.evaluate(async (seen) => {
          const image = new Image();
          image.src = `data:image/png;base64,${seen}`;
          await image.decode();
          const context = Object.assign(document.createElement('canvas'), {width: 12 * 34, height: 12}).getContext('2d');
          context.drawImage(image, 0, 0);
          const pixels = window.looks.map((_, index) => context.getImageData(12 * index, 0, 12, 12).data);
          let closest = [Infinity];
          for (let one = 0; one < pixels.length; one++) {
            for (let other = 0; other < one; other++) {
              const apart = pixels[one].reduce((sum, value, at) => sum + Math.abs(value - pixels[other][at]), 0) / (12 * 12 * 3);
              if (apart < closest[0]) closest = [apart, window.looks[one], window.looks[other]];
            }
          }
          return closest;
        }, seen);
      }
    }
  },
  async colours() {
    const back = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    result.light = await back(await open());
    result.dark = await back(await open({dark: true}));
  },
  async axe() {
    result.violations = [];
    const type = process.env.TYPE_HASH ?? '';
    for (const look of [{}, {dark: true, width: 390}, {dark: true, hash: type}, {width: 390, hash: type}]) {
      result.violations.push(...await violations(await open({...look, bypassCSP: true})));
    }
  },
  /** Sort, filter, chips. */
  async table() {
    const page = await open();
    await page.click('#types-table th:has-text("Limit") button');
    result.by_limit = (await names(page)).slice(0, 3);
    await page.click('#types-table th:has-text("Type") button');
    result.by_name = (await names(page)).slice(0, 5);
    result.sorted = await page.$eval('#types-table th[aria-sort]', (cell) => [cell.textContent, cell.getAttribute('aria-sort')]);
    await page.keyboard.press('/');
    await page.keyboard.type(process.env.FILTER ?? 'mbuf');
    result.filtered = await names(page);
    result.count = await text(page, '#types-count');
    await page.fill('#filter', '');
    await page.click('#chips button >> nth=0');
    result.chip = await text(page, '#chips button >> nth=0');
    result.of_chip = await page.$$eval('#types-table tbody.rows-in-view tr', (rows) => rows.map((row) => row.children[1].textContent));
  },
  /** One type, with the keyboard only, and back. */
  async type() {
    const page = await open();
    const link = page.locator('#problem-list a').first();
    result.name = await link.textContent();
    await link.focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('#type-title');
    result.focused = await page.evaluate(() => document.activeElement.id);
    await page.waitForSelector('#type [role=img] canvas');  // the answers are there
    result.facts = await text(page, '#type .facts');
    result.chart = await page.getAttribute('#type [role=img]', 'aria-label');
    result.keys = await page.$$eval('#type .key', (all) => all.map((one) => one.textContent));
    result.cpus = await page.$$eval('#type [aria-label="By CPU"] .bars', (all) => all.map((one) => one.children.length / 3));
    result.nodes = await page.$$eval('#type [aria-label="By memory node"] .bars', (all) => all.map((one) => one.children.length / 3));
    result.figures = await page.$$eval('#type .scroll tbody tr', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    await picture(page, 'type');
    await page.keyboard.press('Escape');
    await page.waitForSelector('#overview', {state: 'visible'});
  },
  /** The bars of the type of TYPE_HASH: for each table its text, labels and values, and the share of the track that the longest bar takes. */
  async nodes() {
    const page = await open({hash: process.env.TYPE_HASH});
    await page.waitForSelector('#type [aria-label="By memory node"] .bars');
    result.tables = await page.$$eval('#type [aria-label="By memory node"] .bars', (all) => all.map((box) => ({
      help: box.previousElementSibling.textContent, labels: [...box.children].filter((_, index) => index % 3 === 0).map((one) => one.textContent),
      values: [...box.children].filter((_, index) => index % 3 === 2).map((one) => one.textContent),
      widths: [...box.querySelectorAll('i')].map((one) => parseFloat(one.style.width))})));
    result.without = await text(page, '#type [aria-label="By CPU"]');
    await picture(page, 'nodes');
  },
  /** What the chart of the type of TYPE_HASH shows of the kernel's log. */
  async logged() {
    const page = await open({hash: process.env.TYPE_HASH});
    await page.waitForSelector('#type .key.logged');
    result.key = await text(page, '#type .key.logged');
    const box = await (await page.$('#type .u-over')).boundingBox();
    await page.mouse.move(box.x + box.width - 1, box.y + box.height / 2);
    await page.waitForFunction(() => document.querySelector('#type').textContent.includes('Killed process'));
    await picture(page, 'logged');
  },
  /** The page follows the polls without scrolling, and sends no requests while it is hidden. */
  async live() {
    const page = await open();
    await page.evaluate(() => {
      window.moved = 0;
      new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value; })
        .observe({type: 'layout-shift', buffered: false});
    });
    result.generations = [await page.getAttribute('html', 'data-generation')];
    await page.evaluate(() => document.getElementById('types-table').scrollIntoView());
    // Position in the window, not on the page: when rows are added above, the browser scrolls to keep the visible ones in place.
    const place = () => page.evaluate(() => document.getElementById('types-table').getBoundingClientRect().top);
    const before = await place();
    for (let i = 0; i < 2; i++) {
      await page.waitForSelector(`html:not([data-generation="${result.generations[i]}"])`, {state: 'attached'});
      result.generations.push(await page.getAttribute('html', 'data-generation'));
    }
    result.scrolled = (await place()) - before;
    result.moved = await page.evaluate(() => window.moved);
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', {value: true});
      document.dispatchEvent(new Event('visibilitychange'));
    });
    let asked = 0;
    page.on('request', () => { asked++; });
    // Requests under way may continue, however long a busy machine takes; then there must be none.
    for (let turn = 0; turn < 60; turn++) {
      asked = 0;
      await page.waitForTimeout(1000);
      if (asked === 0) break;
    }
    asked = 0;
    await page.waitForTimeout(3000);
    result.asked_while_hidden = asked;
  },
  /** Names that would be markup if they could. */
  async hostile() {
    const page = await open();
    result.types = await names(page);
    result.foreign_elements = await page.$$eval('img, iframe, object, b, script:not([src])', (all) => all.length);
    await page.click('#types-table tbody.rows-in-view a >> nth=0');
    await page.waitForSelector('#type-title');
    result.title = await text(page, '#type-title');
    result.foreign_elements += await page.$$eval('img, iframe, object, b, script:not([src])', (all) => all.length);
  },
  /** Many types: what is drawn, how long the first drawing took and how smoothly the table scrolls. */
  async many() {
    const begin = Date.now();
    const page = await open();
    result.first_render_ms = await page.evaluate(() => performance.getEntriesByName('first-render')[0].startTime);
    result.wall_ms = Date.now() - begin;
    result.rows = await page.getAttribute('#types-table table', 'aria-rowcount');
    result.elements = await page.$$eval('#types-table tbody.rows-in-view tr', (all) => all.length);
    // The frame rate depends on the machine's other work; the time that the page's thread spends on a frame depends on the page.
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable', {timeDomain: 'threadTicks'});
    const worked = async () => {
      const {metrics} = await session.send('Performance.getMetrics');
      return ['TaskDuration', 'ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'].map((name) => metrics.find((one) => one.name === name).value);
    };
    const before = await worked();
    result.frames = await page.evaluate(() => new Promise((resolve) => {
      const place = document.querySelector('#types-table .viewport');
      const gaps = [];
      let last = performance.now();
      const step = (now) => {
        gaps.push(now - last);
        last = now;
        place.scrollTop += 150;  // 9000 pixels a second: a fast flick
        if (gaps.length < 120) requestAnimationFrame(step);
        else resolve(gaps.slice(1).sort((a, b) => a - b));
      };
      requestAnimationFrame(step);
    }));
    result.frames = {median_ms: result.frames[59], p95_ms: result.frames[112], work_ms: (await worked()).map((value, index) => 1000 * (value - before[index]) / 120)};
    result.last = await page.evaluate(async () => {
      const place = document.querySelector('#types-table .viewport');
      place.scrollTop = place.scrollHeight;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      return [...place.querySelectorAll('tbody.rows-in-view tr')].pop().getAttribute('aria-rowindex');
    });
  },
};

const results = {};
for (const name of wanted.split(',')) {
  const begin = Date.now();
  result = results[name] = {errors: [], foreign: [], dialogs: []};
  try {
    await scenarios[name]();
  } catch (error) {
    result.failed = String(error.stack ?? error);
  }
  for (const context of browser.contexts()) await context.close();
  result.took_ms = Date.now() - begin;
}
await browser.close();
console.log(JSON.stringify(results));
