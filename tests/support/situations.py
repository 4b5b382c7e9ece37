# SPDX-License-Identifier: BSD-2-Clause
"""Situations: captures of problems and of calm machines, with their true causes and the output of memstatctl why.

    python3 -B tests/support/situations.py [NAME...]     prints the table; MEMSTATCTL names the program

tests/situations/README.md has the format.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SITUATIONS = SOURCE / 'tests/situations'
CAPTURES = SOURCE / 'tests/fixtures/captures'
POLL = re.compile(r'^\d{6}$')


def all_situations():
    for file in sorted(SITUATIONS.glob('*.yaml')):
        for one in yaml.safe_load(file.read_text()):
            yield file.stem, one


def edited(text, edits, poll):
    """The file's text in this poll."""
    for edit in edits:
        if poll < edit.get('from', 1):
            continue
        begin, step = edit.get('ramp', [0, 0])
        put = edit['put'].replace('%d', str(int(begin + step * poll)))
        if 'find' not in edit:
            text = put
            continue
        text, count = re.subn(edit['find'], lambda match, put=put: match.expand(put), text, flags=re.M)
        assert count, f"{edit['file']}: nothing matches {edit['find']}"
    return text


def prepare(situation, directory):
    """The situation's capture: its own polls, or its last one repeated, with the edits."""
    edits = situation.get('edits', [])
    if not edits:
        return CAPTURES / situation['capture']
    # Otherwise thousands of small files that no edit changes would be copied for each poll.
    subprocess.run(['tar', '--zstd', '--exclude=*/sys/kernel/*', '-xf', CAPTURES / situation['capture'], '-C', directory], check=True)
    (manifest,) = pathlib.Path(directory).glob('*/manifest.yaml')
    root = manifest.parent
    first = sorted(entry for entry in root.iterdir() if POLL.match(entry.name))[-1]
    for entry in [entry for entry in root.iterdir() if POLL.match(entry.name) and entry != first]:
        shutil.rmtree(entry)
    base = root / 'base'
    first.rename(base)
    seconds = situation.get('seconds', 10)
    for poll in range(situation.get('polls', 3)):
        place = root / f'{poll:06d}'
        shutil.copytree(base, place, copy_function=os.link)
        time = f'2026-11-20T{15 + poll * seconds // 3600:02d}:{poll * seconds // 60 % 60:02d}:{poll * seconds % 60:02d}Z'
        (place / 'poll.yaml').unlink()
        (place / 'poll.yaml').write_text(f'label: {poll}\nrealtime: {time}\nmonotonic_ns: {(1000 + poll * seconds) * 10**9}\n')
        for name in {edit['file'] for edit in edits}:
            file = place / name
            old = file.read_text(errors='surrogateescape') if file.exists() else ''  # some files are binary numbers
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)  # a link to the capture's directory
            file.write_text(edited(old, [edit for edit in edits if edit['file'] == name], poll), errors='surrogateescape')
    shutil.rmtree(base)
    return root


def answer(situation, program):
    with tempfile.TemporaryDirectory() as directory:
        root = prepare(situation, directory)
        done = subprocess.run([program, 'why', '--json', '--from', root], capture_output=True, text=True, check=False, timeout=120)
        if not done.stdout:
            raise AssertionError(f"{situation['name']}: {done.stderr}")
        return json.loads(done.stdout), done.returncode


def wrong_with(situation, findings):
    """"" or the error in the answer."""
    causes = [finding['cause'] for finding in findings]
    if 'cause' not in situation:
        loud = [one['headline'] for one in findings if one['severity'] != 'notable']
        return f'is calm, but: {loud}' if loud else ''
    if situation['cause'] not in causes[:situation.get('within', 1)]:
        return f"{situation['cause']} expected, found {causes}"
    finding = findings[causes.index(situation['cause'])]
    if situation.get('severity', finding['severity']) != finding['severity']:
        return f"{situation['severity']} expected, found {finding['severity']}"
    about = {f"{one['allocator']}/{one['type']}" for one in finding['about']}
    if missing := set(situation.get('about', [])) - about:
        return f'not about {missing}, but {about}'
    if missing := set(situation.get('who', [])) - {one['name'] for one in finding['who']}:
        return f"does not name {missing}, but {finding['who']}"
    for name in situation.get('wrong', []):
        if name in causes:
            return f'blames {name} as well'
    return ''


def main(wanted):
    program = os.environ.get('MEMSTATCTL', str(SOURCE / 'build/bin/memstatctl'))
    counts = {'right': 0, 'wrong': 0, 'described only': 0}
    for file, situation in all_situations():
        name = f"{file}: {situation['name']}"
        if wanted and not any(word in name for word in wanted):
            continue
        if 'capture' not in situation:
            counts['described only'] += 1
            continue
        document, _ = answer(situation, program)
        wrong = wrong_with(situation, document['findings'])
        counts['wrong' if wrong else 'right'] += 1
        first = document['findings'][0]['headline'] if document['findings'] else 'nothing is wrong'
        print(f"{'WRONG' if wrong else 'right'}  {name}: {wrong or first}")
    print(', '.join(f'{count} {what}' for what, count in counts.items()))
    return counts['wrong']


if __name__ == '__main__':
    sys.exit(1 if main(sys.argv[1:]) else 0)
